import type { DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { dav, observe } from "./following.ts";
import { startService, TOKEN } from "./service.ts";
import { invoke } from "./transport/transport.ts";

const { method } = MountService;
const { rollback } = SettingService.method;

const service = startedForAll(startService);
let limited: string;

startedForAll(() => observe(as(service.port), "harbour"));

beforeAll(async () => {
  const scopes = ["mounts:read", "mounts:write"];
  limited = (await give(as(service.port), scopes, ["mount:/team/*"])).text;
});

/** A mount of the driver Local. */
const local = (name: string, mountPath: string) => ({
  name,
  mountPath,
  driver: "Local",
  config: { root_folder_path: "/srv" },
});

describe.each(sharedPortTransports.filter(({ name }) => name !== "Connect GET"))(
  "over $name",
  ({ open }) => {
    const transport = startedForAll(() => open(service));

    /** A reply or `{ failed, fields, message }`, with the code of this transport. */
    async function call<D extends DescMethodUnary>(
      desc: D,
      members: MessageInitShape<D["input"]>,
      authorization = TOKEN,
    ) {
      const outcome = await invoke(transport, desc, members, { authorization });
      if (outcome.kind === "reply") return outcome.message;
      return { failed: outcome.code, fields: outcome.fields, message: outcome.message };
    }
    const failure = (code: Code) => ({ failed: transport.codeOf(code) });
    const etagOf = async (name: string) => {
      const reply = await call(method.getMount, { name });
      return (reply as { mount: { etag: string } }).mount.etag;
    };

    test("mounts are saved, with dry run and expected etag, copied, renamed and deleted", async () => {
      const mounts = [local("a", "/a"), local("b", "/b")];
      const results = [
        { name: "a", outcome: "created" },
        { name: "b", outcome: "created" },
      ];
      const list = () => call(method.listMounts, {});
      expect(await call(method.saveMounts, { mounts, dryRun: true })).toMatchObject({ results });
      expect(await list()).toMatchObject({ mounts: [] });
      expect(await call(method.saveMounts, { mounts, reason: "two" })).toMatchObject({ results });
      const etag = await etagOf("a");
      const revision = BigInt(((await list()) as { readonly revision: string }).revision);

      const change = { name: "a", config: { root_folder_path: "/other" } };
      const saveAt = (expectedEtag: string, dryRun = false) =>
        call(method.saveMounts, { mounts: [{ ...change, expectedEtag }], dryRun });
      expect(await saveAt("0")).toMatchObject(failure(Code.AlreadyExists));
      expect(await saveAt(await etagOf("b"))).toMatchObject(failure(Code.Aborted));
      expect(await saveAt(etag, true)).toMatchObject({
        results: [{ outcome: "changed", differs: ["root_folder_path"] }],
      });
      expect(await etagOf("a")).toBe(etag);
      expect(await saveAt(etag)).toMatchObject({ results: [{ outcome: "changed" }] });
      expect(await saveAt(etag)).toMatchObject(failure(Code.Aborted));

      // All or nothing, with each error at its item.
      const wrong = { name: "b", config: { root_folder_path: 5 }, members: { order: "first" } };
      expect(await call(method.saveMounts, { mounts: [local("c", "/c"), wrong] })).toMatchObject({
        ...failure(Code.InvalidArgument),
        fields: ["mounts[1].members.order", "mounts[1].config.root_folder_path"],
      });
      expect(await call(method.getMount, { name: "c" })).toMatchObject(failure(Code.NotFound));

      const replace = { name: "b", item: "root_folder_path", value: "/moved" };
      expect(await call(method.replaceCredential, { ...replace, dryRun: true })).toMatchObject({
        results: [{ name: "b", outcome: "changed" }],
      });
      await call(method.replaceCredential, replace);
      expect(await call(method.getMount, { name: "b" })).toMatchObject({
        mount: { config: { root_folder_path: "/moved" } },
      });
      const copy = { name: "b", newName: "copy", mountPath: "/copy" };
      expect(await call(method.copyMount, copy)).toMatchObject({ mount: { mount_path: "/copy" } });
      expect(await call(method.copyMount, copy)).toMatchObject(failure(Code.AlreadyExists));
      expect(await call(method.renameMount, { name: "copy", newName: "b" })).toMatchObject(
        failure(Code.AlreadyExists),
      );
      await call(method.renameMount, { name: "copy", newName: "third" });
      const names = ["a", "b", "third"];
      expect(await call(method.deleteMounts, { names: [...names, "none"] })).toMatchObject(
        failure(Code.NotFound),
      );
      expect(await list()).toMatchObject({ mounts: names.map((name) => ({ name })) });
      await call(method.deleteMounts, { names });
      expect(await list()).toMatchObject({ mounts: [] });

      const back = { to: revision, only: ["a"] };
      expect(await call(rollback, { ...back, dryRun: true })).toMatchObject({
        results: [{ key: "mount:a", outcome: "created" }],
      });
      expect(await list()).toMatchObject({ mounts: [] });
      await call(rollback, back);
      const { document } = { document: await call(method.exportMounts, {}) } as {
        document: { document: object };
      };
      await call(method.deleteMounts, { names: ["a"] });
      const read = { document: document.document as Record<string, never>, dryRun: true };
      expect(await call(BackupService.method.importArchive, read)).toMatchObject({
        results: [{ name: "a", outcome: "created" }],
      });
      await call(BackupService.method.importArchive, { ...read, dryRun: false });
      expect(await list()).toMatchObject({ mounts: [{ name: "a", mount_path: "/a" }] });
      await call(method.deleteMounts, { names: ["a"] });
    });

    test("a token with limits writes only at its paths, and gets nothing of others", async () => {
      const hidden = {
        ...local("hidden", "/team/hidden"),
        overrides: { harbour: { mountPath: "/away" } },
      };
      await call(method.saveMounts, {
        mounts: [local("outer", "/outer"), local("inner", "/team/a"), hidden],
      });
      const save = (mount: object) => call(method.saveMounts, { mounts: [mount] }, limited);
      const denied = failure(Code.PermissionDenied);
      expect(await save({ name: "inner", disabled: true })).toMatchObject({
        results: [{ outcome: "changed" }],
      });
      for (const mount of [
        { name: "outer", disabled: true },
        { name: "inner", mountPath: "/elsewhere" },
        { name: "inner", overrides: { harbour: { mountPath: "/elsewhere" } } },
        local("other", "/other"),
        // It would be within the limits by losing a path outside.
        { name: "hidden", overrides: { harbour: {} } },
      ])
        expect(await save(mount), JSON.stringify(mount)).toMatchObject(denied);
      const taken = await save(local("second", "/team/hidden"));
      expect(taken).toMatchObject({
        ...failure(Code.InvalidArgument),
        message: expect.stringContaining("another mount"),
      });
      expect(JSON.stringify(taken)).not.toContain('mount \\"hidden');
      const copy = { name: "outer", newName: "mine", mountPath: "/team/mine" };
      expect(await call(method.copyMount, copy, limited)).toMatchObject(denied);
      const rename = { name: "outer", newName: "renamed" };
      expect(await call(method.renameMount, rename, limited)).toMatchObject(denied);
      // Into a name outside of the limits: every call is refused in the same way, without a word about the other mount.
      for (const newName of ["outer", "hidden"]) {
        const onto = { name: "inner", newName, mountPath: "/team/mine" };
        const answers = await Promise.all([
          call(method.renameMount, { name: "inner", newName }, limited),
          call(method.copyMount, onto, limited),
          save(local(newName, "/team/mine")),
          save({ ...local(newName, "/team/mine"), expectedEtag: "0" }),
          call(
            method.saveMounts,
            { mounts: [local(newName, "/team/mine")], dryRun: true },
            limited,
          ),
        ]);
        for (const answer of answers) {
          expect(answer).toMatchObject(denied);
          expect(JSON.stringify(answer)).not.toContain("exists");
        }
      }
      for (const names of [["outer"], ["inner", "outer"], ["unknown"]])
        expect(await call(method.deleteMounts, { names }, limited)).toMatchObject(denied);
      const replace = { name: "inner", item: "root_folder_path", value: "/mine", dryRun: true };
      expect(await call(method.replaceCredential, replace, limited)).toMatchObject({
        results: [{ name: "inner" }],
      });
      expect(await call(rollback, { to: 1n }, limited)).toMatchObject(denied);
      await call(method.deleteMounts, { names: ["inner"] }, limited);
      await call(method.deleteMounts, { names: ["hidden", "outer"] });
    });
  },
);

test("a token with limits has the history of the mounts at its paths, and no other", async () => {
  const root = as(service.port);
  const mounts = as(service.port).mounts;
  const save = async (...inputs: object[]) =>
    Number((await mounts.saveMounts({ mounts: inputs })).revision);
  const made = await save(
    dav("ours", "one", { mountPath: "/team/ours" }),
    local("theirs", "/theirs"),
  );
  const secret = await save({ name: "ours", config: { password: "two" } });
  const alone = await save({ name: "theirs", disabled: true });
  const out = await save({ name: "ours", mountPath: "/away" });
  const away = await save({ name: "ours", config: { password: "three" } });
  const back = await save({ name: "ours", mountPath: "/team/back" });
  const scopes = ["mounts:read", "history:read"];
  const { text } = await give(root, scopes, ["mount:/team/*"]);
  const { settings } = as(service.port, text);
  const { revisions } = await settings.listRevisions({ pageSize: 100 });
  const keysOf = (number: number) =>
    revisions.find(({ revision }) => Number(revision) === number)?.keys;
  expect(keysOf(made)).toEqual(["mount:ours"]);
  expect(keysOf(secret)).toEqual(["mount:ours"]);
  for (const hidden of [alone, out, away, back]) {
    expect(keysOf(hidden)).toBeUndefined();
    await expect(settings.getRevision({ revision: BigInt(hidden) })).rejects.toThrow("limited to");
  }
  const { changes } = await settings.getRevision({ revision: BigInt(made) });
  expect(changes.map(({ key }) => key)).toEqual(["mount:ours"]);
  const diff = async (from: number, to: number) =>
    (await settings.diffRevisions({ from: BigInt(from), to: BigInt(to) })).changes.map(
      ({ key }) => key,
    );
  expect(await diff(made - 1, secret)).toEqual(["mount:ours"]);
  expect(await diff(secret, out)).toEqual([]);
  const ofKey = (key: string) => settings.listRevisions({ key });
  expect((await ofKey("mount:ours")).revisions.map(({ revision }) => Number(revision))).toEqual([
    secret,
    made,
  ]);
  await expect(ofKey("mount:theirs")).rejects.toThrow("limited to");
  // Without mounts:read the limit grants nothing.
  const { text: other } = await give(root, ["history:read"], ["mount:/team/*"]);
  const reply = await as(service.port, other).settings.listRevisions({ pageSize: 100 });
  expect(reply.revisions).toEqual([]);
  await mounts.deleteMounts({ names: ["ours", "theirs"] });
});

test("concurrent imports give each new path its own name; a row that repeats a mount is skipped", async () => {
  const { backup, mounts: client } = as(service.port);
  const row = (path: string) => ({ mount_path: path, driver: "Local" });
  const load = (...paths: string[]) =>
    backup.importArchive({ document: { storages: paths.map(row) } });
  const both = await Promise.all([load("/films!"), load("/films?")]);
  expect(both.map(({ results }) => results.map(({ outcome }) => outcome))).toEqual([
    ["created"],
    ["created"],
  ]);
  const { mounts } = await client.listMounts({});
  const pathsOf = new Map(mounts.map(({ name, mountPath }) => [name, mountPath]));
  expect(new Set([pathsOf.get("films"), pathsOf.get("films-2")])).toEqual(
    new Set(["/films!", "/films?"]),
  );
  const { results } = await load("/films!", "/films!", "/new");
  expect(results.map(({ outcome }) => outcome)).toEqual(["unchanged", "skipped", "created"]);
  expect(results[1]?.note).toBe("name: films occurs twice in this request");
  await client.deleteMounts({ names: ["films", "films-2", "new"] });
});
