import { expect, test } from "vitest";
import { writeStatement } from "../../../src/store/postgres/transaction.ts";
import { deleting, setting } from "../sample.ts";

/** Maximum number of parameters of a statement in PostgreSQL's protocol. */
const MOST = 65_535;

test("the number of parameters of a write does not depend on the number of settings and deletions", () => {
  const keys = Array.from({ length: 40_000 }, (_, at) => `key ${at}`);
  const values = Object.fromEntries(keys.map((key) => [key, "value"]));
  const base = { revision: 0, timeline: undefined };
  const counts = [setting(1, { key: "value" }), setting(1, values), deleting(1, keys)].map(
    (write) => writeStatement(write, base).parameters.length,
  );
  expect(new Set(counts).size).toBe(1);
  expect(counts[0]).toBeLessThan(MOST);
});
