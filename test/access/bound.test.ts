import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ROOT } from "../../src/access/grant.ts";
import { createPrincipalService } from "../../src/access/principal.ts";
import type { AccessTransaction } from "../../src/access/store.ts";
import { checkCount } from "../../src/access/token.ts";

const MOST = 100_000;

test("principals and tokens are limited in number", async () => {
  const service = createPrincipalService({
    registry: { principals: () => Array.from({ length: MOST }), now: () => 0 } as never,
    change: () => Promise.reject(new Error("the database must not be called")),
    randomBytes: Buffer.alloc,
  });
  const made = service.createPrincipal("one-more", "program", {
    actor: "admin",
    grant: ROOT,
  } as never);
  await expect(made).rejects.toMatchObject({ code: Code.ResourceExhausted });
  const transaction = (count: number): AccessTransaction =>
    ({ tokenCount: async () => count }) as never;
  await expect(checkCount(transaction(MOST))).rejects.toMatchObject({
    code: Code.ResourceExhausted,
  });
  await checkCount(transaction(MOST - 1));
});
