import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { LARGE_MOUNTS, LARGE_REMARK_BYTES, saveLargeMounts } from "./large-mounts.ts";
import { startService } from "./service.ts";

const service = startedForAll(startService);

test.each(["x", "港"])(
  "a page of large mounts of %s ends after 4 MiB, and the next one continues after it",
  async (letter) => {
    const root = as(service.port);
    await saveLargeMounts(root.mounts, letter);
    const first = await root.mounts.listMounts({});
    const rest = await root.mounts.listMounts({ pageToken: first.nextPageToken });
    const listed = [...first.mounts, ...rest.mounts].map(({ name }) => name);
    expect(listed).toEqual(LARGE_MOUNTS);
    const size = first.mounts.length * LARGE_REMARK_BYTES;
    expect(size).toBeGreaterThan(4 * 2 ** 20 - 2 * LARGE_REMARK_BYTES);
    expect(size).toBeLessThan(4 * 2 ** 20 + 2 * LARGE_REMARK_BYTES);
    expect(rest.nextPageToken).toBe("");
    const two = await root.mounts.listMounts({ pageSize: 2 });
    expect([two.mounts.map(({ name }) => name), two.nextPageToken]).toEqual([
      ["m000", "m001"],
      "m001",
    ]);
    root.close();
  },
);
