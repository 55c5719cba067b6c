import { create, type DescMethodUnary, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SCOPES } from "../../src/access/grant.ts";
import { requirementOf } from "../../src/access/requirement.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService } from "./service.ts";
import { invoke, type Transport, WireFailure } from "./transport/transport.ts";

/** Part of every key and value outside the limits, and of no request except for them. */
const OUTSIDE = "forbidden";
/** Random requests of a transport: limits are applied behind all of them, by the same code. */
const ROUNDS = 15;
/** Random requests of the two transports with encodings of their own. */
const MANY_ROUNDS = 80;

const { method } = SettingService;
const scopes = SCOPES.filter((scope) => /^(settings|history|backup|drivers):/.test(scope));

const service = startedForAll(startService);
let byKey: string;
let byGroup: string;
/** The newest revision of the earlier changes. */
let last: bigint;
/** Etags of all states, by revision. */
const etags = new Map<bigint, string>();
/** Texts that no reply may have: keys and values outside the limits. */
const secret = new RegExp(OUTSIDE);

beforeAll(async () => {
  const root = as(service.port);
  const first = await root.settings.listSettings({});
  etags.set(first.revision, first.etag);
  const custom = (key: string, group: number, value: string) => ({ key, group, value, flag: 1 });
  const settings = [
    ...["a", "b", "c"].map((name) => custom(`in_${name}`, 77, `inside ${name}`)),
    ...["a", "b", "c"].map((name) => custom(`${OUTSIDE}_${name}`, 78, `${OUTSIDE} ${name}`)),
    { key: "announcement", value: `${OUTSIDE} announcement` },
    { key: "aria2_secret", value: `${OUTSIDE} secret` },
  ];
  for (let round = 0; round < 4; round += 1)
    await root.settings.saveSettings({
      settings: settings.map((one) => ({ ...one, value: `${one.value} ${round}` })),
      reason: `${OUTSIDE} reason ${round}`,
    });
  // One of both kinds in a revision, one of each alone, and a setting that was moved in from
  // outside.
  await root.settings.saveSettings({ settings: [custom(`${OUTSIDE}_a`, 78, `${OUTSIDE} alone`)] });
  await root.settings.saveSettings({ settings: [custom("in_a", 77, "inside alone")] });
  await root.settings.saveSettings({
    settings: [custom("moved", 78, `${OUTSIDE} moved`)],
    reason: `${OUTSIDE} reason of a setting that came in later`,
  });
  await root.settings.saveSettings({ settings: [custom("moved", 77, "inside moved")] });
  // A deleted one that is left in the history only.
  await root.settings.saveSettings({
    settings: [{ ...custom(`${OUTSIDE}_gone`, 78, `${OUTSIDE} gone`), flag: 3 }],
    reason: `${OUTSIDE} reason of one that is gone`,
  });
  await root.settings.deleteSetting({ key: `${OUTSIDE}_gone`, reason: `${OUTSIDE} end` });
  last = (await root.settings.listSettings({})).revision;
  const end = new AbortController();
  const watching = root.settings.watchSettings({ afterEtag: first.etag }, { signal: end.signal });
  for await (const event of watching) {
    etags.set(event.revision, event.etag);
    if (event.revision === last) break;
  }
  end.abort();
  byKey = (await give(root, scopes, ["key:in_*"], "by-key")).text;
  byGroup = (await give(root, scopes, ["group:77"], "by-group")).text;
});

const key = fc.constantFrom(
  "in_a",
  "in_b",
  "in_new",
  `${OUTSIDE}_a`,
  `${OUTSIDE}_gone`,
  "announcement",
  "aria2_secret",
  "moved",
  "token",
  "x",
);
const keys = fc.array(key, { maxLength: 3 });
const revision = fc.integer({ min: 0, max: 18 }).map(BigInt);
const etag = fc.constantFrom(undefined, "0", "3.0123456789abcdef", "4.0123456789abcdef");
const input = fc.record({
  key,
  value: fc.constantFrom("v", "********", ""),
  group: fc.constantFrom(undefined, 77, 78),
  expectedEtag: etag,
});
const present = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** For a document, which is plain JSON. */
const plain = ({ expectedEtag: _, ...members }: { expectedEtag?: string | undefined }) =>
  present(members);

const requests: fc.Arbitrary<readonly [DescMethodUnary, object]> = fc.oneof(
  fc.record({ groups: fc.subarray([77, 78, 1]) }).map((r) => [method.listSettings, r] as const),
  fc
    .record({ groups: fc.subarray([77, 78, 1]) })
    .map((r) => [method.listDefaultSettings, r] as const),
  key.map((one) => [method.getSetting, { key: one }] as const),
  keys.map((some) => [method.batchGetSettings, { keys: some }] as const),
  fc
    .record({
      settings: fc.array(input.map(present), { maxLength: 3 }),
      expectedEtag: etag,
      dryRun: fc.boolean(),
    })
    .map((r) => [method.saveSettings, present(r)] as const),
  fc.record({ key, expectedEtag: etag }).map((r) => [method.deleteSetting, present(r)] as const),
  fc
    .record({ key: fc.option(key, { nil: undefined }), pageSize: fc.integer({ min: 0, max: 5 }) })
    .map((r) => [method.listRevisions, present(r)] as const),
  revision.map((at) => [method.getRevision, { revision: at }] as const),
  fc.record({ from: revision, to: revision }).map((r) => [method.diffRevisions, r] as const),
  fc
    .record({ to: revision, only: keys, dryRun: fc.constant(true), expectedEtag: etag })
    .map((r) => [method.rollback, present(r)] as const),
  fc
    .constantFrom(0, 1, 3)
    .map((mode) => [BackupService.method.exportArchive, { secrets: mode }] as const),
  fc.record({ settings: fc.array(input.map(plain), { maxLength: 3 }), dryRun: fc.boolean() }).map(
    ({ settings, dryRun }) =>
      [
        BackupService.method.importArchive,
        {
          document: { format: "mooring-archive", version: 1, settings },
          dryRun,
          skipInvalid: true,
        },
      ] as const,
  ),
  fc.constant([method.setAria2, { uri: "http://127.0.0.1:1/jsonrpc", secret: "" }] as const),
  fc.constant([method.setQbittorrent, { url: "http://a:b@127.0.0.1:1/", seedtime: 1 }] as const),
);

test("every method that applies a token's limits has requests", () => {
  const covered = new Set(
    fc.sample(requests, { numRuns: 500, seed: 1 }).map(([desc]) => desc.name),
  );
  const methods = [...SettingService.methods, ...BackupService.methods];
  const limited = methods.filter((desc) => requirementOf(desc).limited);
  expect(limited.map(({ name }) => name).filter((name) => !covered.has(name))).toEqual([
    // Streams have tests of their own.
    method.watchSettings.name,
  ]);
});

/** All settings outside the limits of one of the tokens. */
async function outside(by: string) {
  const { settings } = await as(service.port).settings.listSettings({});
  return settings.filter(({ key, group }) =>
    by === "key" ? !key.startsWith("in_") : group !== 77,
  );
}

describe.each(sharedPortTransports)("over $name", ({ name, open }) => {
  const numRuns = name === "REST" || name === "gRPC" ? MANY_ROUNDS : ROUNDS;

  test.each(["key", "group"])(
    "a token limited by %s gets nothing from outside, and changes nothing there",
    async (by) => {
      const before = await outside(by);
      const transport = open(service);
      const token = by === "key" ? byKey : byGroup;
      const logged = service.log().length;
      await fc.assert(
        fc.asyncProperty(requests, async ([desc, members]) => {
          if (!transport.carries(desc)) return;
          const received = JSON.stringify(
            await invoke(transport, desc, { ...members }, { authorization: token }),
          );
          expect(withoutEcho(received, members)).not.toMatch(secret);
        }),
        { numRuns },
      );
      transport.close();
      expect(service.log().slice(logged)).not.toMatch(secret);
      expect(await outside(by)).toEqual(before);
    },
  );

  test.each(["key", "group"])(
    "a stream of a token limited by %s has nothing from outside, from any revision on",
    async (by) => {
      const transport = open(service);
      if (!transport.carries(method.watchSettings)) return;
      const token = by === "key" ? byKey : byGroup;
      const logged = service.log().length;
      for (const after of [-1n, ...etags.keys()].filter((at) => at < last))
        for (const some of [[], ["in_a", "moved"], [`${OUTSIDE}_a`]]) {
          const members = { keys: some, ...(after < 0n ? {} : { afterEtag: etags.get(after) }) };
          const received = await events(transport, members, token);
          expect(withoutEcho(received, members), `after ${after}`).not.toMatch(secret);
        }
      transport.close();
      expect(service.log().slice(logged)).not.toMatch(secret);
    },
  );
});

test("a rollback moves no setting out of the group that a token is limited to", async () => {
  const root = as(service.port).settings;
  const own = as(service.port, byGroup).settings;
  const inGroup = (group: number) =>
    root.saveSettings({ settings: [{ key: "came_in", value: `of ${group}`, group, flag: 1 }] });
  const { revision: to } = await inGroup(78);
  await inGroup(77);
  expect(await own.rollback({ to, only: ["came_in"] })).toMatchObject({ changes: [] });
  const { setting } = await own.getSetting({ key: "came_in" });
  expect(setting).toMatchObject({ group: 77, value: "of 77" });
});

test.each(["key", "group"])(
  "a conflict has nothing from outside for a token limited by %s",
  async (by) => {
    const own = as(service.port, by === "key" ? byKey : byGroup);
    const root = as(service.port);
    const { etag: expectedEtag } = await own.settings.listSettings({});
    const settings = [
      { key: `${OUTSIDE}_c`, value: `${OUTSIDE} by ${by}`, group: 78, flag: 1 },
      { key: "in_c", value: `inside by ${by}`, group: 77, flag: 1 },
    ];
    await root.settings.saveSettings({ settings });
    const change = { key: "in_c", value: "mine" };
    const none = { ...change, expectedEtag: "0" };
    const conflicts = [
      own.settings.saveSettings({ settings: [change], expectedEtag }),
      own.settings.saveSettings({ settings: [none] }),
      own.settings.rollback({ to: 1n, expectedEtag }),
    ];
    for (const conflict of await Promise.allSettled(conflicts)) {
      expect(conflict).toMatchObject({ reason: { rawMessage: expect.stringContaining("in_c") } });
      expect(String(conflict.status === "rejected" && conflict.reason)).not.toMatch(secret);
    }
  },
);

test.each(["key", "group"])(
  "a stream of a token limited by %s has nothing from outside, from now and from before",
  async (by) => {
    const own = as(service.port, by === "key" ? byKey : byGroup);
    const root = as(service.port);
    const end = new AbortController();
    for (const request of [{}, { afterEtag: [...etags.values()][0] ?? "" }]) {
      const stream = own.settings.watchSettings(request, { signal: end.signal });
      const texts: string[] = [];
      const mark = `end of ${by} ${texts.length} ${Object.keys(request).length}`;
      const saved = [
        { key: `${OUTSIDE}_b`, value: `${OUTSIDE} ${mark}`, group: 78, flag: 1 },
        { key: "in_b", value: mark, group: 77, flag: 1 },
      ];
      let isTold = false;
      for await (const event of stream) {
        const text = JSON.stringify(toJson(method.watchSettings.output, event));
        texts.push(text);
        if (!isTold) await root.settings.saveSettings({ settings: saved });
        isTold = true;
        if (text.includes(mark)) break;
      }
      expect(texts.join("\n")).not.toMatch(secret);
      expect(texts.length).toBeGreaterThan(1);
    }
    end.abort();
  },
);

/** Events of a stream up to the newest revision, or its failure. */
async function events(transport: Transport, members: object, token: string): Promise<string> {
  const request = create(method.watchSettings.input, members);
  const received: string[] = [];
  const options = { headers: { authorization: token } };
  try {
    for await (const event of transport.watch(method.watchSettings, request, options)) {
      received.push(JSON.stringify(event));
      if (Number(event["revision"]) >= last) return received.join("\n");
    }
  } catch (error) {
    if (!(error instanceof WireFailure)) throw error;
    received.push(JSON.stringify(error.failure));
  }
  return received.join("\n");
}

/** An import lists the sent keys, which the client has sent itself. */
function withoutEcho(received: string, members: object): string {
  const sent = JSON.stringify(members, (_name, value) => (typeof value === "bigint" ? 0 : value));
  const names = new Set(sent.match(/"forbidden_\w+"/g) ?? []);
  let rest = received;
  for (const name of names) rest = rest.replaceAll(name, '""');
  return rest;
}
