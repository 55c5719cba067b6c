import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { startService } from "./service.ts";

const service = startedForAll(startService);

test("a page of large mounts ends after 4 MiB, and the next one continues after it", async () => {
  const root = as(service.port);
  const names = Array.from({ length: 100 }, (_, at) => `m${String(at).padStart(3, "0")}`);
  // Each has nearly the maximum of 64 KiB.
  const remark = "x".repeat(60_000);
  for (let at = 0; at < names.length; at += 20)
    await root.mounts.saveMounts({
      mounts: names.slice(at, at + 20).map((name) => ({
        name,
        mountPath: `/${name}`,
        driver: "Local",
        config: { root_folder_path: "/srv" },
        members: { remark },
        sites: { all: true },
      })),
    });
  const first = await root.mounts.listMounts({});
  const rest = await root.mounts.listMounts({ pageToken: first.nextPageToken });
  const listed = [...first.mounts, ...rest.mounts].map(({ name }) => name);
  expect(listed).toEqual(names);
  expect(first.mounts.length * remark.length).toBeGreaterThan(4 * 2 ** 20 - 2 * remark.length);
  expect(first.mounts.length * remark.length).toBeLessThan(4 * 2 ** 20 + 2 * remark.length);
  expect(rest.nextPageToken).toBe("");
  const two = await root.mounts.listMounts({ pageSize: 2 });
  expect([two.mounts.map(({ name }) => name), two.nextPageToken]).toEqual([
    ["m000", "m001"],
    "m001",
  ]);
  root.close();
});
