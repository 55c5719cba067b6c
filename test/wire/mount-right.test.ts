import type { JsonObject } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give, jsonOf } from "./access-client.ts";
import { local, SECRET, saveCloud, startFollowed } from "./following.ts";
import { TOKEN } from "./service.ts";

const headers = { authorization: TOKEN };

const one = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one }));
const admin = startedForAll(() => as(service.port));

beforeAll(() => saveCloud(admin, one));

describe("secrets", () => {
  test("are in no replies, history, audit, settings and log", async () => {
    const list = jsonOf([
      await admin.mounts.listMounts({}),
      await admin.settings.listSettings({}),
      await admin.settings.listRevisions({ pageSize: 100 }),
      await admin.mounts.exportMounts({}),
      await admin.backup.exportArchive({ only: ["settings"] }),
    ]);
    const audit = await fetch(`http://127.0.0.1:${service.port}/api/admin/audit/events`, {
      headers,
    });
    // The mount is written to its site after it was saved.
    await expect.poll(() => service.log()).toContain("cloud");
    for (const text of [list, await audit.text(), service.log()]) {
      expect(text).toContain("cloud");
      expect(text).not.toContain(SECRET);
    }
    expect(list).toContain("********");
    const revealed = await admin.mounts.getMount({ name: "cloud", reveal: true });
    expect(revealed.mount?.config?.["password"]).toBe(SECRET);
  });

  test("are no settings: they cannot be read, changed or deleted as such", async () => {
    for (const key of ["mount:cloud", "mount:cloud:password"]) {
      await expect(admin.settings.getSetting({ key })).rejects.toThrow("no setting");
      await expect(admin.settings.deleteSetting({ key })).rejects.toThrow("no setting");
      await expect(
        admin.settings.saveSettings({ settings: [{ key, value: "x", type: "string" }] }),
      ).rejects.toThrow("reserved for mounts");
    }
  });

  test("are kept by the mask, and removed by null", async () => {
    await admin.mounts.saveMounts({
      mounts: [{ name: "cloud", config: { password: "********" } }],
    });
    const read = async () => (await admin.mounts.getMount({ name: "cloud", reveal: true })).mount;
    expect((await read())?.config?.["password"]).toBe(SECRET);
    await admin.mounts.saveMounts({ mounts: [{ name: "cloud", members: { remark: "r" } }] });
    expect((await read())?.members).toMatchObject({ remark: "r" });
    await admin.mounts.saveMounts({
      mounts: [{ name: "cloud", members: { remark: null } as unknown as JsonObject }],
    });
    expect((await read())?.members).not.toHaveProperty("remark");
  });
});

describe("the rights of a token", () => {
  const made = async (scopes: string[], limits: string[] = []): Promise<string> =>
    (await give(admin, scopes, limits)).text;

  test("to reveal secrets is mounts:reveal", async () => {
    const reader = as(service.port, await made(["mounts:read"])).mounts;
    expect((await reader.getMount({ name: "cloud" })).mount?.config?.["password"]).toBe("********");
    await expect(reader.getMount({ name: "cloud", reveal: true })).rejects.toThrow("mounts:reveal");
    await expect(reader.exportMounts({ reveal: true })).rejects.toThrow("mounts:reveal");
  });

  test("without a scope or a limit of mounts show none", async () => {
    const other = as(service.port, await made(["settings:read", "history:read"]));
    const { revisions } = await other.settings.listRevisions({ pageSize: 500 });
    expect(JSON.stringify(revisions.map(({ keys }) => keys))).not.toContain("mount:");
    const keys = as(service.port, await made(["mounts:read"], ["key:*"])).mounts;
    expect((await keys.listMounts({})).mounts).toEqual([]);
    // Writes at other paths: mount-write.test.ts.
    const limited = as(service.port, await made(["mounts:read"], ["mount:/team/*"])).mounts;
    for (const name of ["cloud", "nothing"])
      await expect(limited.getMount({ name })).rejects.toThrow("limited to");
  });
});

test("watchers of settings get nothing of mounts", async () => {
  const ending = new AbortController();
  const seen: string[] = [];
  const watching = (async () => {
    for await (const { event } of admin.settings.watchSettings({}, { signal: ending.signal }))
      if (event.case === "change") seen.push(...event.value.changes.map(({ key }) => key));
  })().catch(() => undefined);
  await admin.mounts.saveMounts({ mounts: [local("hidden", "/h")] });
  await admin.mounts.deleteMounts({ names: ["hidden"] });
  await admin.settings.saveSettings({ settings: [{ key: "site_title", value: "Seen" }] });
  await expect.poll(() => seen).toEqual(["site_title"]);
  ending.abort();
  await watching;
});
