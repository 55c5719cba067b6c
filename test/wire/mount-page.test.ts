import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { LARGE_MOUNTS, LARGE_REMARK, saveLargeMounts } from "./large-mounts.ts";
import { startService } from "./service.ts";

const service = startedForAll(startService);

test("a page of large mounts ends after 4 MiB, and the next one continues after it", async () => {
  const root = as(service.port);
  await saveLargeMounts(root.mounts);
  const first = await root.mounts.listMounts({});
  const rest = await root.mounts.listMounts({ pageToken: first.nextPageToken });
  const listed = [...first.mounts, ...rest.mounts].map(({ name }) => name);
  expect(listed).toEqual(LARGE_MOUNTS);
  expect(first.mounts.length * LARGE_REMARK.length).toBeGreaterThan(
    4 * 2 ** 20 - 2 * LARGE_REMARK.length,
  );
  expect(first.mounts.length * LARGE_REMARK.length).toBeLessThan(
    4 * 2 ** 20 + 2 * LARGE_REMARK.length,
  );
  expect(rest.nextPageToken).toBe("");
  const two = await root.mounts.listMounts({ pageSize: 2 });
  expect([two.mounts.map(({ name }) => name), two.nextPageToken]).toEqual([
    ["m000", "m001"],
    "m001",
  ]);
  root.close();
});
