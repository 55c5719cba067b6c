import type { JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import type { WholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { type TestService, TOKEN } from "./service.ts";
import { local, rowOf, SECRET, startTwoSites } from "./two-sites.ts";

const headers = { authorization: TOKEN };

const stage = startedForAll(startTwoSites);
let service: TestService;
let one: WholeSite;
let two: WholeSite;

beforeAll(async () => {
  ({ service, one, two } = stage);
  await stage.saveCloud();
});

const mounts = (token?: string) => stage.mounts(token);
const settings = (token?: string) => stage.settings(token);

describe("secrets", () => {
  test("are in no replies, history, audit, settings and log", async () => {
    const list = JSON.stringify(
      [
        await mounts().listMounts({}),
        await settings().listSettings({}),
        await settings().listRevisions({ pageSize: 100 }),
        await mounts().exportMounts({}),
        await settings().exportSettings({}),
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
    const revealed = await mounts().getMount({ name: "cloud", reveal: true });
    expect(revealed.mount?.config?.["password"]).toBe(SECRET);
  });

  test("are no settings: they cannot be read, changed or deleted as such", async () => {
    for (const key of ["mount:cloud", "mount:cloud:password"]) {
      await expect(settings().getSetting({ key })).rejects.toThrow("no setting");
      await expect(settings().deleteSetting({ key })).rejects.toThrow("no setting");
      await expect(
        settings().saveSettings({ settings: [{ key, value: "x", type: "string" }] }),
      ).rejects.toThrow("reserved for mounts");
    }
  });

  test("are kept by the mask, and removed by null", async () => {
    await mounts().saveMounts({ mounts: [{ name: "cloud", config: { password: "********" } }] });
    const read = async () => (await mounts().getMount({ name: "cloud", reveal: true })).mount;
    expect((await read())?.config?.["password"]).toBe(SECRET);
    await mounts().saveMounts({ mounts: [{ name: "cloud", members: { remark: "r" } }] });
    expect((await read())?.members).toMatchObject({ remark: "r" });
    await mounts().saveMounts({
      mounts: [{ name: "cloud", members: { remark: null } as unknown as JsonObject }],
    });
    expect((await read())?.members).not.toHaveProperty("remark");
  });
});

describe("the rights of a token", () => {
  const made = async (scopes: string[], limits: string[] = []): Promise<string> =>
    (
      await createClient(AccessService, stage.transport()).createToken({
        ...{ principal: "p", scopes, limits, neverExpires: true },
      })
    ).secret;

  test("follow its scopes", async () => {
    const reader = mounts(await made(["mounts:read"]));
    expect((await reader.getMount({ name: "cloud" })).mount?.config?.["password"]).toBe("********");
    await expect(reader.getMount({ name: "cloud", reveal: true })).rejects.toThrow("mounts:reveal");
    await expect(reader.exportMounts({ reveal: true })).rejects.toThrow("mounts:reveal");
    await expect(reader.deleteMounts({ names: ["cloud"] })).rejects.toThrow("mounts:write");
    const other = await made(["settings:read", "history:read"]);
    await expect(mounts(other).listMounts({})).rejects.toThrow("mounts:read");
    const { revisions } = await settings(other).listRevisions({ pageSize: 500 });
    expect(JSON.stringify(revisions.map(({ keys }) => keys))).not.toContain("mount:");
  });

  test("reveal no secret by a dry run", async () => {
    const writer = mounts(await made(["mounts:write"]));
    const guess = async (password: string) =>
      (
        await writer.saveMounts({
          mounts: [{ name: "cloud", config: { password } }],
          dryRun: true,
        })
      ).results.map(({ outcome }) => outcome);
    expect(await guess(SECRET)).toEqual(await guess("wrong"));
  });

  test("are restricted to its paths", async () => {
    await mounts().saveMounts({
      mounts: [local("inner", "/i", { mountPath: "/team/inner", sites: { names: ["one"] } })],
    });
    const limited = mounts(await made(["mounts:write"], ["mount:/team/*"]));
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
    const all = mounts(await made(["mounts:read"], ["key:*"]));
    expect((await all.listMounts({})).mounts).toEqual([]);
  });
});

describe("history", () => {
  test("a rollback of mounts on two sites restores them, and secrets are kept", async () => {
    await mounts().saveMounts({
      mounts: [local("a", "/a"), local("b", "/b", { sites: { names: ["two"] } })],
    });
    const { revision } = await mounts().listMounts({});
    await mounts().saveMounts({
      mounts: [
        { name: "a", config: { root_folder_path: "/changed" } },
        { name: "cloud", config: { password: "other" }, members: { remark: "changed" } },
      ],
    });
    await mounts().deleteMounts({ names: ["b"] });
    await mounts().saveMounts({ mounts: [local("c", "/c")] });
    await expect.poll(() => rowOf(two, "/c")?.status).toBe("work");
    await expect.poll(() => rowOf(two, "/b")).toBeUndefined();
    const back = await mounts().rollbackMounts({ revision, reason: "undo" });
    expect(back.results.map(({ name, outcome }) => `${name} ${outcome}`).sort()).toEqual([
      ...["a changed", "b created", "c deleted", "cloud changed"],
    ]);
    expect(back.results.find(({ name }) => name === "cloud")?.note).toContain("password");
    await expect.poll(() => one.storages.addition("/a")["root_folder_path"]).toBe("/a");
    await expect.poll(() => rowOf(two, "/b")?.status).toBe("work");
    await expect.poll(() => rowOf(one, "/c")).toBeUndefined();
    const { mount } = await mounts().getMount({ name: "cloud", reveal: true });
    expect(mount?.config?.["password"]).toBe("other");
    expect(mount?.members).not.toHaveProperty("remark");
    await mounts().deleteMounts({ names: ["a", "b"] });
  });

  test("a rollback of settings leaves mounts unchanged", async () => {
    const { revision } = await mounts().listMounts({});
    await settings().saveSettings({ settings: [{ key: "site_title", value: "Other" }] });
    await mounts().saveMounts({ mounts: [local("kept", "/k", { sites: { names: ["one"] } })] });
    const { skipped } = await settings().rollback({ to: revision, keys: ["site_title"] });
    expect(skipped).toEqual([]);
    expect((await mounts().getMount({ name: "kept" })).mount?.mountPath).toBe("/kept");
    await mounts().deleteMounts({ names: ["kept"] });
  });

  test("watchers of settings get nothing of mounts", async () => {
    const ending = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { event } of settings().watchSettings({}, { signal: ending.signal }))
        if (event.case === "change") seen.push(...event.value.changes.map(({ key }) => key));
    })().catch(() => undefined);
    await mounts().saveMounts({ mounts: [local("hidden", "/h", { sites: { names: ["one"] } })] });
    await mounts().deleteMounts({ names: ["hidden"] });
    await settings().saveSettings({ settings: [{ key: "site_title", value: "Seen" }] });
    await expect.poll(() => seen).toEqual(["site_title"]);
    ending.abort();
    await watching;
  });
});
