import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { startedForAll } from "../../started.ts";
import { startService, TOKEN } from "../../wire/service.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const service = startedForAll(startService);

/** Bytes in use, in the heap and outside of it. */
async function taken(): Promise<number> {
  // Objects that only a cached key references are collected in the next round.
  for (let round = 0; round < 4; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

async function call(path: string, body?: unknown): Promise<{ readonly bytes: number }> {
  const reply = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(reply.status).toBe(200);
  return { bytes: (await reply.arrayBuffer()).byteLength };
}

/** Sets of groups of existing settings; each has the group with the large setting. */
const sets = Array.from({ length: 250 }, (_, bits) =>
  [0, 1, 2, 3, 4, 5, 6, 7, 8].filter((group) => group === 0 || (bits >> (group - 1)) & 1),
);

test("lists of groups that a caller chooses need no more memory than their bound", async () => {
  const large = { key: "large", value: "v".repeat(500_000), type: "text", group: 0, flag: 1 };
  await call("/api/admin/setting/save", [large]);
  await call("/api/admin/setting/list?groups=0");
  const before = await taken();
  let sent = 0;
  for (const [at, groups] of sets.entries()) {
    sent += (await call(`/api/admin/setting/list?groups=${groups}`)).bytes;
    // Groups without settings are no other list.
    sent += (await call(`/api/admin/setting/list?groups=${[...groups, 1_000 + at]}`)).bytes;
    const rpc = "/mooring.v1.SettingService/ListSettings";
    sent += (await call(rpc, { groups })).bytes;
  }
  expect(sent).toBeGreaterThan(250 * 3 * 500_000);
  // 16 MiB of replies take about four times as much (settings/reply.ts); without a bound it is 570
  // MB.
  expect((await taken()) - before).toBeLessThan(160 * 2 ** 20);
}, 120_000);
