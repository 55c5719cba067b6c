import { getHeapSpaceStatistics } from "node:v8";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  DriverService,
  ListDriverNamesResponseSchema,
} from "../../gen/mooring/v1/driver_service_pb.js";
import { restHandler } from "../../src/gateway/entry-fetch.ts";

/** Bytes of objects in old space, which only a full garbage collection frees. */
function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")
    ?.space_used_size as number;
}

test("a call is garbage for the next minor collection", async () => {
  const handle = restHandler({
    routes: (router) =>
      router.service(DriverService, {
        listDriverNames: () => create(ListDriverNamesResponseSchema),
      }),
  });
  const ask = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1)
      await (await handle(new Request("http://localhost/api/admin/driver/names"))).text();
  };
  await ask(3_000);
  const before = oldBytes();
  await ask(20_000);
  // A Request of undici alone takes about 200 bytes; a retained call, 2,000.
  expect((oldBytes() - before) / 20_000).toBeLessThan(1_000);
});
