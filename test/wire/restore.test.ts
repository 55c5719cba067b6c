import type { DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { dav, FOLLOWING, local, rowOf, startFollowed } from "./following.ts";
import { TOKEN } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { restTransport } from "./transport/rest.ts";
import { invoke, type Transport } from "./transport/transport.ts";

const { rollback, getRevision, diffRevisions, listRevisions } = SettingService.method;

const home = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ home }, FOLLOWING));
const admin = startedForAll(() => as(service.port));

const PASSWORD = "password-of-films-7a";
const onHome = { sites: { names: ["home"] } };

const save = async (values: Record<string, string>): Promise<bigint> => {
  const settings = Object.entries(values).map(([key, value]) => ({ key, value }));
  return (await admin.settings.saveSettings({ settings })).revision;
};
const titleNow = async () =>
  (await admin.settings.getSetting({ key: "site_title" })).setting?.value;
const outcomes = (results: readonly { key: string; outcome: string }[]) =>
  results.map(({ key, outcome }) => `${key} ${outcome}`);

/** The revision to go back to: later, a setting, a secret and three mounts change. */
let before: bigint;

beforeEach(async () => {
  const { mounts } = await admin.mounts.listMounts({});
  if (mounts.length > 0) await admin.mounts.deleteMounts({ names: mounts.map(({ name }) => name) });
  await save({ site_title: "Before", aria2_secret: "first" });
  await admin.mounts.saveMounts({
    mounts: [
      dav("films", PASSWORD, onHome),
      local("books", "/srv", onHome),
      local("team", "/srv", onHome),
    ],
  });
  await expect.poll(() => rowOf(home, "/books")?.status).toBe("work");
  await expect.poll(() => rowOf(home, "/films")?.status).toBe("work");
  before = (await admin.mounts.listMounts({})).revision;
  await save({ site_title: "After", aria2_secret: "second" });
  await admin.mounts.saveMounts({
    mounts: [
      { name: "films", config: { username: "bob" }, members: { remark: "new" } },
      local("later", "/srv", onHome),
    ],
  });
  await expect.poll(() => rowOf(home, "/later")?.status).toBe("work");
  await admin.mounts.deleteMounts({ names: ["books"] });
});

/** Calls over a transport: a reply, or the code of a failure with its message. */
const callOver =
  (transport: Transport) =>
  async <D extends DescMethodUnary>(
    desc: D,
    members: MessageInitShape<D["input"]>,
    authorization = TOKEN,
  ) => {
    const outcome = await invoke(transport, desc, members, { authorization });
    if (outcome.kind === "reply") return outcome.message;
    return { failed: outcome.code, message: outcome.message };
  };

test("a rollback restores settings and mounts in one revision, as its dry run has said over each transport", async () => {
  const newest = (await admin.mounts.listMounts({})).revision;
  const wanted = {
    changes: [
      { key: "site_title", old_value: "After", new_value: "Before", items: [] },
      {
        key: "mount:films",
        kind: "CHANGE_KIND_CHANGED",
        items: [
          { name: "config.username", old_value: "bob", new_value: "ann" },
          { name: "members.remark", old_value: "new" },
        ],
      },
      { key: "mount:later", kind: "CHANGE_KIND_DELETED" },
      { key: "mount:books", kind: "CHANGE_KIND_ADDED" },
    ],
    results: [
      { kind: "setting", key: "site_title", outcome: "changed", differs: ["value"] },
      { kind: "setting", key: "aria2_secret", outcome: "skipped", note: /^is a secret/ },
      {
        kind: "mount",
        key: "mount:films",
        outcome: "changed",
        differs: ["username", "remark"],
        effects: [{ action: "remount", site: "home", path: "/films" }],
      },
      {
        kind: "mount",
        key: "mount:later",
        outcome: "deleted",
        effects: [{ action: "remove", site: "home", path: "/later" }],
      },
      { kind: "mount", key: "mount:books", outcome: "created", effects: [] },
    ],
  };
  const sorted = (reply: object) => {
    const { changes, results } = reply as Record<"changes" | "results", { key: string }[]>;
    const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);
    return { changes: changes.toSorted(byKey), results: results.toSorted(byKey) };
  };
  let dry: object = {};
  for (const { open } of sharedPortTransports) {
    const transport = open(service);
    onTestFinished(() => transport.close());
    if (!transport.carries(rollback)) continue;
    dry = await callOver(transport)(rollback, { to: before, dryRun: true });
    expect(dry, transport.name).toMatchObject({ revision: String(newest) });
    expect(sorted(dry), transport.name).toMatchObject(sorted(wanted));
  }
  expect(await titleNow()).toBe("After");
  const grpc = grpcTransport("gRPC", service.grpcPort);
  onTestFinished(() => grpc.close());
  const call = callOver(grpc);
  const done = await call(rollback, { to: before, reason: "undo" });
  expect(done).toMatchObject({ revision: String(newest + 1n) });
  expect(sorted(done)).toEqual(sorted(dry));
  expect(await titleNow()).toBe("Before");
  const { mounts } = await admin.mounts.listMounts({});
  expect(mounts.map(({ name }) => name)).toEqual(["books", "films", "team"]);
  await expect.poll(() => rowOf(home, "/books")?.status).toBe("work");
  await expect.poll(() => rowOf(home, "/later")).toBeUndefined();
  // The rollback can itself be undone.
  await call(rollback, { to: newest });
  expect(await titleNow()).toBe("After");
  expect(await call(diffRevisions, { from: newest, to: 0n })).toMatchObject({ changes: [] });
});

describe("a rollback over REST", () => {
  const transport = startedForAll(() => restTransport(service.port));
  const call = callOver(transport);

  test("`only` narrows it to a kind, a key, or a name, with the kind or without", async () => {
    const restored = async (...only: string[]) => {
      const reply = await call(rollback, { to: before, only, dryRun: true });
      const { results } = reply as { results: { key: string; outcome: string }[] };
      return results.map(({ key }) => key).sort();
    };
    const mounts = ["mount:books", "mount:films", "mount:later"];
    expect(await restored("settings")).toEqual(["aria2_secret", "site_title"]);
    expect(await restored("mounts")).toEqual(mounts);
    expect(await restored("mounts", "site_title")).toEqual([...mounts, "site_title"]);
    expect(await restored("films")).toEqual(["mount:films"]);
    expect(await restored("/films")).toEqual(["mount:films"]);
    expect(await restored("mount:films", "mount:books")).toEqual(["mount:books", "mount:films"]);
    expect(await restored("setting:site_title")).toEqual(["site_title"]);
    // Known, and not changed since.
    expect(await restored("team", "logo")).toEqual([]);
  });

  test("a name that does not exist, or that several have, is refused", async () => {
    const failure = async (only: string[]) => call(rollback, { to: before, only, dryRun: true });
    for (const name of ["film", "mount:site_title", "setting:books", "", "/nowhere"])
      expect(await failure(["site_title", name]), name).toMatchObject({
        failed: transport.codeOf(Code.NotFound),
        message: expect.stringContaining(`nothing has the name "${name}"`),
      });
    await admin.settings.saveSettings({ settings: [{ key: "films", value: "a setting" }] });
    expect(await failure(["films"])).toMatchObject({
      failed: transport.codeOf(Code.InvalidArgument),
      message: expect.stringContaining("setting:films, mount:films"),
    });
    expect(await failure(["setting:films"])).toMatchObject({ results: [{ key: "films" }] });
    await call(rollback, { to: before, only: ["setting:films"] });
  });

  test("what the token has no scope for is skipped by name, and refused if nothing remains", async () => {
    const token = async (...scopes: string[]) => (await give(admin, scopes)).text;
    const blind = await token("history:rollback");
    const scope = (name: string) => expect.stringContaining(`the scope ${name}`);
    expect(await call(rollback, { to: before, dryRun: true }, blind)).toMatchObject({
      results: [
        { key: "aria2_secret", outcome: "skipped" },
        { key: "site_title", outcome: "changed" },
        { kind: "mount", key: "mounts", outcome: "skipped", note: scope("mounts:read") },
      ],
    });
    const reader = await token("history:rollback", "mounts:read");
    const reply = await call(rollback, { to: before, dryRun: true }, reader);
    const { results } = reply as { results: { key: string; outcome: string; note: string }[] };
    const mounts = results.filter(({ key }) => key.startsWith("mount:"));
    expect(outcomes(mounts).sort()).toEqual([
      "mount:books skipped",
      "mount:films skipped",
      "mount:later skipped",
    ]);
    for (const { note } of mounts) expect(note).toEqual(scope("mounts:write"));
    const denied = { failed: transport.codeOf(Code.PermissionDenied) };
    for (const only of [["mounts"], ["films"], ["mount:films", "mount:books"]]) {
      expect(await call(rollback, { to: before, only }, reader)).toMatchObject({
        ...denied,
        message: scope("mounts:write"),
      });
    }
    expect(await call(rollback, { to: before, only: ["mount:films"] }, blind)).toMatchObject({
      ...denied,
      message: scope("mounts:read"),
    });
    expect(await titleNow()).toBe("After");
  });

  test("a token with limits restores what is within them, and is told that others stay", async () => {
    const limits = ["mount:/films", "key:site_*"];
    const scopes = ["history:rollback", "mounts:write", "settings:read"];
    const { text } = await give(admin, scopes, limits);
    const reply = await call(rollback, { to: before, dryRun: true }, text);
    const others = expect.stringContaining("outside the limits");
    expect(reply).toMatchObject({
      results: [
        { key: "site_title", outcome: "changed" },
        { key: "settings", outcome: "skipped", note: others },
        { key: "mount:films", outcome: "changed" },
        { key: "mounts", outcome: "skipped", note: others },
      ],
    });
    expect(JSON.stringify(reply)).not.toMatch(/books|later|aria2/);
    const denied = { failed: transport.codeOf(Code.PermissionDenied) };
    for (const name of ["books", "mount:later", "aria2_secret", "nothing"])
      expect(await call(rollback, { to: before, only: [name] }, text)).toMatchObject(denied);
  });

  test("the history shows a mount item by item, with its secrets masked", async () => {
    await admin.mounts.saveMounts({ mounts: [{ name: "films", config: { password: "new" } }] });
    const { revision } = await admin.mounts.listMounts({});
    const page = { keys: ["mount:films"], revision: String(revision) };
    expect(await call(listRevisions, { pageSize: 1 })).toMatchObject({ revisions: [page] });
    const secret = {
      name: "config.password",
      old_value: "********",
      new_value: "********",
      secret: true,
    };
    expect(await call(getRevision, { revision })).toMatchObject({
      revision: page,
      changes: [{ key: "mount:films", kind: "CHANGE_KIND_CHANGED", items: [secret] }],
    });
    const diff = await call(diffRevisions, { from: before, to: 0n });
    const { changes } = diff as { changes: { key: string; items: { name: string }[] }[] };
    const items = Object.fromEntries(
      changes.map((change) => [change.key, change.items.map(({ name }) => name)]),
    );
    expect(items["mount:films"]).toEqual(["config.username", "members.remark", "config.password"]);
    expect(items["mount:later"]).toEqual([
      "mount_path",
      "driver",
      "disabled",
      "content",
      "sites",
      "config.root_folder_path",
    ]);
    expect(JSON.stringify(diff)).not.toContain(PASSWORD);
  });
});

test("a rollback of a mount names its secrets that are not as they were", async () => {
  await admin.mounts.saveMounts({
    mounts: [{ name: "films", config: { password: "other", username: "cat" } }],
  });
  const changed = await admin.settings.rollback({ to: before, only: ["films"], dryRun: true });
  expect(changed.results).toMatchObject([
    { outcome: "changed", notRestored: ["config.password"], note: /config.password: secrets/ },
  ]);
  await admin.mounts.deleteMounts({ names: ["films"] });
  const created = await admin.settings.rollback({ to: before, only: ["films"], dryRun: true });
  expect(created.results).toMatchObject([
    { outcome: "created", notRestored: ["config.password"], note: /incomplete/ },
  ]);
});

test("a rollback that expects the state of its dry run is refused after a change of a mount, which it names", async () => {
  const { etag: expectedEtag } = await admin.settings.rollback({ to: before, dryRun: true });
  await admin.mounts.saveMounts({ mounts: [{ name: "team", disabled: true }] });
  await expect(admin.settings.rollback({ to: before, expectedEtag })).rejects.toMatchObject({
    code: Code.Aborted,
    message: expect.stringContaining("mount:team"),
  });
});

test("a rollback whose mount has no free path changes nothing, settings included", async () => {
  await admin.mounts.saveMounts({
    mounts: [local("taken", "/srv", { mountPath: "/books", ...onHome })],
  });
  const only = ["settings", "books"];
  await expect(admin.settings.rollback({ to: before, only })).rejects.toMatchObject({
    code: Code.FailedPrecondition,
    message: expect.stringContaining('already used by the mount "taken"'),
  });
  expect(await titleNow()).toBe("After");
});
