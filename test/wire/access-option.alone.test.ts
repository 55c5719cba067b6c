import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import type * as Routes from "../../src/app/routes.ts";
import { defineRpc } from "../gateway/contract.ts";
import { startService } from "./service.ts";

// A contract with an rpc without an access option.
vi.mock("../../src/app/routes.ts", async (original) => {
  const routes = await original<typeof Routes>();
  return {
    ...routes,
    createRoutes: (...args: Parameters<typeof routes.createRoutes>) => {
      const register = routes.createRoutes(...args);
      return (router: ConnectRouter): void => {
        register(router);
        router.rpc(defineRpc({ name: "TakeThing" }) as DescMethodUnary, () => ({}));
      };
    },
  };
});

test("the start fails for an rpc without an access option, and names it", async () => {
  await expect(startService()).rejects.toThrow(
    "rpc test.v1.ThingService.TakeThing has no access option: add (mooring.access.v1.access)",
  );
});
