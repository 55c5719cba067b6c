import type { JsonObject } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { local, rowOf, SECRET, saveCloud, startFollowed } from "./following.ts";
import { TOKEN } from "./service.ts";

const headers = { authorization: TOKEN };

const one = startedForAll(startWholeSite);
const two = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one, two }));
const admin = startedForAll(() => as(service.port));

beforeAll(() => saveCloud(admin, one));

describe("secrets", () => {
  test("are in no replies, history, audit, settings and log", async () => {
    const list = JSON.stringify(
      [
        await admin.mounts.listMounts({}),
        await admin.settings.listSettings({}),
        await admin.settings.listRevisions({ pageSize: 100 }),
        await admin.mounts.exportMounts({}),
        await admin.backup.exportArchive({ only: ["settings"] }),
      ],
      (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value),
    );
    const audit = await fetch(`http://127.0.0.1:${service.port}/api/admin/audit/events`, {
      headers,
    });
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

  test("follow its scopes", async () => {
    const reader = as(service.port, await made(["mounts:read"])).mounts;
    expect((await reader.getMount({ name: "cloud" })).mount?.config?.["password"]).toBe("********");
    await expect(reader.getMount({ name: "cloud", reveal: true })).rejects.toThrow("mounts:reveal");
    await expect(reader.exportMounts({ reveal: true })).rejects.toThrow("mounts:reveal");
    await expect(reader.deleteMounts({ names: ["cloud"] })).rejects.toThrow("mounts:write");
    const other = await made(["settings:read", "history:read"]);
    await expect(as(service.port, other).mounts.listMounts({})).rejects.toThrow("mounts:read");
    const { revisions } = await as(service.port, other).settings.listRevisions({ pageSize: 500 });
    expect(JSON.stringify(revisions.map(({ keys }) => keys))).not.toContain("mount:");
  });

  test("are restricted to its paths", async () => {
    await admin.mounts.saveMounts({
      mounts: [local("inner", "/i", { mountPath: "/team/inner", sites: { names: ["one"] } })],
    });
    const limited = as(service.port, await made(["mounts:write"], ["mount:/team/*"])).mounts;
    expect((await limited.listMounts({})).mounts.map(({ name }) => name)).toEqual(["inner"]);
    await expect(limited.getMount({ name: "cloud" })).rejects.toThrow("limited to");
    await expect(limited.getMount({ name: "nothing" })).rejects.toThrow("limited to");
    await expect(
      limited.saveMounts({ mounts: [{ name: "inner", mountPath: "/elsewhere" }] }),
    ).rejects.toThrow("limited to");
    await expect(limited.saveMounts({ mounts: [local("x", "/x")] })).rejects.toThrow("limited to");
    await expect(limited.syncMounts({ site: "one" })).rejects.toThrow();
    await limited.saveMounts({ mounts: [{ name: "inner", disabled: true }] });
    await limited.deleteMounts({ names: ["inner"] });
    const all = as(service.port, await made(["mounts:read"], ["key:*"])).mounts;
    expect((await all.listMounts({})).mounts).toEqual([]);
  });
});

describe("history", () => {
  test("a rollback of mounts on two sites restores them, and secrets are kept", async () => {
    await admin.mounts.saveMounts({
      mounts: [local("a", "/a"), local("b", "/b", { sites: { names: ["two"] } })],
    });
    const { revision } = await admin.mounts.listMounts({});
    await admin.mounts.saveMounts({
      mounts: [
        { name: "a", config: { root_folder_path: "/changed" } },
        { name: "cloud", config: { password: "other" }, members: { remark: "changed" } },
      ],
    });
    await admin.mounts.deleteMounts({ names: ["b"] });
    await admin.mounts.saveMounts({ mounts: [local("c", "/c")] });
    await expect.poll(() => rowOf(two, "/c")?.status).toBe("work");
    await expect.poll(() => rowOf(two, "/b")).toBeUndefined();
    const back = await admin.settings.rollback({ to: revision, only: ["mounts"], reason: "undo" });
    expect(back.results.map(({ key, outcome }) => `${key} ${outcome}`).sort()).toEqual([
      "mount:a changed",
      "mount:b created",
      "mount:c deleted",
      "mount:cloud changed",
    ]);
    expect(back.results.find(({ key }) => key === "mount:cloud")?.note).toContain("password");
    await expect.poll(() => one.storages.addition("/a")["root_folder_path"]).toBe("/a");
    await expect.poll(() => rowOf(two, "/b")?.status).toBe("work");
    await expect.poll(() => rowOf(one, "/c")).toBeUndefined();
    const { mount } = await admin.mounts.getMount({ name: "cloud", reveal: true });
    expect(mount?.config?.["password"]).toBe("other");
    expect(mount?.members).not.toHaveProperty("remark");
    await admin.mounts.deleteMounts({ names: ["a", "b"] });
  });

  test("a rollback of settings leaves mounts unchanged", async () => {
    const { revision } = await admin.mounts.listMounts({});
    await admin.settings.saveSettings({ settings: [{ key: "site_title", value: "Other" }] });
    await admin.mounts.saveMounts({ mounts: [local("kept", "/k", { sites: { names: ["one"] } })] });
    const { results } = await admin.settings.rollback({ to: revision, only: ["site_title"] });
    expect(results).toMatchObject([{ key: "site_title", outcome: "changed" }]);
    expect((await admin.mounts.getMount({ name: "kept" })).mount?.mountPath).toBe("/kept");
    await admin.mounts.deleteMounts({ names: ["kept"] });
  });

  test("watchers of settings get nothing of mounts", async () => {
    const ending = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { event } of admin.settings.watchSettings({}, { signal: ending.signal }))
        if (event.case === "change") seen.push(...event.value.changes.map(({ key }) => key));
    })().catch(() => undefined);
    await admin.mounts.saveMounts({
      mounts: [local("hidden", "/h", { sites: { names: ["one"] } })],
    });
    await admin.mounts.deleteMounts({ names: ["hidden"] });
    await admin.settings.saveSettings({ settings: [{ key: "site_title", value: "Seen" }] });
    await expect.poll(() => seen).toEqual(["site_title"]);
    ending.abort();
    await watching;
  });
});
