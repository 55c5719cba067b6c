// Any state of a Mooring, exported and imported into an empty one, is the same state there.

import { rm } from "node:fs/promises";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PrincipalKind } from "../../gen/mooring/v1/access_pb.js";
import { type ImportArchiveResponse, SecretsMode } from "../../gen/mooring/v1/backup_service_pb.js";
import { IncidentClass, WebhookFormat } from "../../gen/mooring/v1/incident_pb.js";
import { MountContent } from "../../gen/mooring/v1/mount_pb.js";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { STATE_FILE } from "../../src/state-file/form.ts";
import { documentOf, parseStateFile } from "../../src/state-file/read.ts";
import { readKnownSettings } from "../../src/state-file/shapes.ts";
import { writeStateFile } from "../../src/state-file/write.ts";
import { type LocalServices, startLocalServices } from "../app/local-services.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { newDatabaseFolder } from "../store/folder.ts";

/** A server below any first segment of a path. */
const server = startedForAll(async () => {
  const standIn = await startStandIn();
  const at = new URL(standIn.url);
  const front = createServer((request, response) => {
    const path = (request.url ?? "/").replace(/^\/[^/]+/, "");
    const { method, headers } = request;
    const target = { host: at.hostname, port: at.port, path, method, headers };
    const sent = forward(target, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(response);
    });
    sent.on("error", () => response.destroy());
    request.pipe(sent);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const { port } = front.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    token: standIn.token(),
    stop: async () => {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
      await standIn.stop();
    },
  };
});

/** Runs work on two empty databases. */
async function withTwo(
  work: (from: LocalServices, to: LocalServices) => Promise<void>,
): Promise<void> {
  const folders = [newDatabaseFolder(), newDatabaseFolder()] as const;
  const [from, to] = await Promise.all([
    startLocalServices(folders[0]),
    startLocalServices(folders[1]),
  ]);
  try {
    await work(from, to);
  } finally {
    await Promise.all([from.close(), to.close()]);
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
  }
}

const text = fc.string({ unit: "grapheme", maxLength: 30 });
const some = <T>(values: readonly T[]) => fc.subarray([...values]);

const known = fc.record(
  {
    site_title: text,
    announcement: text,
    default_page_size: fc.integer({ min: 1, max: 500 }).map(String),
    aria2_secret: text,
    qbittorrent_url: fc.constantFrom("http://u:p@host:8080/", "http://häfen.example/"),
    link_expiration: fc.nat(100).map(String),
  },
  { requiredKeys: [] },
);

const custom = fc.uniqueArray(
  fc.record({
    key: fc.stringMatching(/^my_[a-z0-9_]{1,12}$/),
    value: fc.constantFrom("a", "b"),
    type: fc.constantFrom("string", "text", "select"),
    help: text,
    group: fc.nat(60),
    flag: fc.constantFrom(0, 1, 3),
  }),
  { selector: ({ key }) => key, maxLength: 4 },
);

const NAMES = ["home", "work", "h.o-m_e2"];

const sites = some(NAMES).chain((names) =>
  fc.tuple(
    ...names.map((name) =>
      fc.record({
        name: fc.constant(name),
        mode: fc.constantFrom(SiteMode.OBSERVE, SiteMode.FOLLOW),
        include: some(["site_*", "group:5"]),
        exclude: some(["aria2_*", "version"]),
        overrides: fc.record(
          { site_title: text, aria2_secret: fc.constantFrom("s1", "s2") },
          { requiredKeys: [] },
        ),
      }),
    ),
  ),
);

const mountNames = fc.uniqueArray(
  fc
    .stringMatching(/^[\p{L}\p{N}][\p{L}\p{N}._-]{0,12}$/u)
    .map((name) => name.normalize("NFC"))
    .filter((name) => /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,63}$/u.test(name)),
  { maxLength: 4 },
);

/** Mounts on some of the sites, with values of their own there. */
const mountsOf = (names: readonly string[]) =>
  mountNames.chain((all) =>
    fc.tuple(
      ...all.map((name, at) =>
        fc.record({
          name: fc.constant(name),
          mountPath: fc.constant(`/${name}/${at}`),
          isDav: fc.boolean(),
          password: fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
          disabled: fc.boolean(),
          content: fc.constantFrom(MountContent.ADOPT, MountContent.OVERWRITE),
          remark: text,
          sites: fc.oneof(
            fc.constant({ all: true }),
            fc.constant({ none: true }),
            ...(names.length > 0
              ? [fc.subarray([...names], { minLength: 1 }).map((chosen) => ({ names: chosen }))]
              : []),
          ),
          own: some(names),
        }),
      ),
    ),
  );

/** Folder rules on some of the sites, with values of their own there. */
const rulesOf = (names: readonly string[]) =>
  fc.uniqueArray(
    fc.record({
      path: fc.stringMatching(/^\/[a-z\u00e9 ]{0,12}[a-z]$/),
      password: fc.string({ unit: "grapheme", maxLength: 20 }).map(printable),
      pSub: fc.boolean(),
      write: fc.boolean(),
      hide: fc.constantFrom("", "\\.tmp$", "(?i)thumbs\n^\\."),
      readme: text,
      readUsers: some(["ann", "bob"]),
      sites: fc.oneof(
        fc.constant({ all: true }),
        fc.constant({ none: true }),
        ...(names.length > 0
          ? [fc.subarray([...names], { minLength: 1 }).map((chosen) => ({ names: chosen }))]
          : []),
      ),
      own: some(names),
      ownPassword: fc.constantFrom(undefined, "", "own-password"),
    }),
    { selector: ({ path }) => path, maxLength: 4 },
  );

function listValue(texts: readonly string[]) {
  return { values: texts.map((value) => ({ kind: { case: "stringValue", value } })) };
}

function printable(value: string): string {
  return value.replace(/\p{Cc}/gu, "");
}

/** Formats of webhooks with what each needs. */
const formats = fc.constantFrom(
  { url: "https://hook.example/a?key=1" },
  { url: "https://ntfy.example/topic", format: WebhookFormat.NTFY, token: "tk_secret" },
  {
    url: "https://api.telegram.org",
    format: WebhookFormat.TELEGRAM,
    token: "123456789:AAE-abcdefghijklmnopqrstuvwxyz012345",
    chat: "-100123",
  },
  {
    url: "https://own.example/b",
    format: WebhookFormat.TEMPLATE,
    template: { body: '{"a":"{{title}}"}', contentType: "application/json", method: "PUT" },
    headers: { values: { "X-Key": "header-secret" } },
  },
);

const webhooksOf = (names: readonly string[]) =>
  fc.uniqueArray(
    fc.record({
      name: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,12}$/),
      format: formats,
      classes: some([IncidentClass.CREDENTIAL, IncidentClass.NETWORK, IncidentClass.UNKNOWN]),
      withoutUnknown: fc.boolean(),
      sites: some(names),
      language: fc.constantFrom("en", "zh-CN"),
      disabled: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 3 },
  );

const principals = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z][a-z0-9._-]{0,8}x$/),
    kind: fc.constantFrom(PrincipalKind.PERSON, PrincipalKind.PROGRAM),
    isDisabled: fc.boolean(),
    tokens: fc.array(
      fc.record({
        scopes: fc.subarray(["settings:read", "history:read", "mounts:read", "rules:read"], {
          minLength: 1,
        }),
        limits: some(["key:s3_*", "group:5", "mount:/films/*", "rule:/films*"]),
        comment: text,
        neverExpires: fc.boolean(),
        end: fc.constantFrom("none", "revoked", "rotated"),
      }),
      { maxLength: 2 },
    ),
  }),
  { selector: ({ name }) => name, maxLength: 3 },
);

const states = sites.chain((all) => {
  const names = all.map(({ name }) => name);
  return fc.record({
    known,
    custom,
    sites: fc.constant(all),
    mounts: mountsOf(names),
    rules: rulesOf(names),
    webhooks: webhooksOf(names),
    principals,
  });
});

type State = typeof states extends fc.Arbitrary<infer S> ? S : never;

async function create({ call }: LocalServices, state: State): Promise<void> {
  for (const { name, mode, include, exclude, overrides } of state.sites) {
    const site = { name, url: `${server.url}/${name}`, token: server.token };
    await call("CreateSite", { site });
    await call("SyncSite", { name });
    await call("UpdateSite", {
      name,
      site: {
        mode,
        paused: true,
        include: { patterns: include },
        exclude: { patterns: exclude },
        overrides: { values: overrides },
      },
    });
  }
  const settings = [
    ...Object.entries(state.known).map(([key, value]) => ({ key, value })),
    ...state.custom.map((each) => ({ ...each, options: each.type === "select" ? "a,b" : "" })),
  ];
  if (settings.length > 0) await call("SaveSettings", { settings });
  const mounts = state.mounts.map(({ isDav, password, remark, own, ...mount }) => ({
    ...mount,
    driver: isDav ? "WebDav" : "Local",
    config: isDav
      ? { address: "https://dav.example", username: "ann", password }
      : { root_folder_path: `/srv/${mount.name}` },
    members: { remark, order: 3 },
    overrides: Object.fromEntries(
      own.map((site, at) => [
        site,
        {
          mountPath: at % 2 === 0 ? `/own${mount.mountPath}` : "",
          config: isDav ? { password: `${password}-${site}` } : { root_folder_path: `/${site}` },
          members: { remark: site },
        },
      ]),
    ),
  }));
  if (mounts.length > 0) await call("SaveMounts", { mounts, allowSharedCredential: true });
  const rules = state.rules.map(({ own, ownPassword, readUsers, ...rule }) => ({
    ...rule,
    readUsers: listValue(readUsers),
    overrides: Object.fromEntries(
      own.map((site, at) => [
        site,
        {
          header: site,
          ...(at % 2 === 0 && { path: `/own${rule.path}`, writeUsers: listValue(["bob"]) }),
          ...(ownPassword !== undefined && { password: ownPassword }),
        },
      ]),
    ),
  }));
  if (rules.length > 0) await call("SaveRules", { rules });
  for (const { format, classes, withoutUnknown, sites: names, ...webhook } of state.webhooks)
    await call("CreateWebhook", {
      webhook: { ...webhook, ...format, classes: { classes, withoutUnknown }, sites: { names } },
    });
  for (const { name, kind, isDisabled, tokens } of state.principals) {
    await call("CreatePrincipal", { name, kind });
    for (const { end, ...input } of tokens) {
      const { token } = (await call("CreateToken", { principal: name, ...input })) as unknown as {
        token: { id: string };
      };
      if (end === "revoked") await call("RevokeToken", { id: token.id });
      if (end === "rotated") await call("RotateToken", { id: token.id });
    }
    if (isDisabled) await call("DisablePrincipal", { name });
  }
}

/** Replies of the public services, without revisions and without the states of servers. */
async function shown({ call }: LocalServices) {
  const without = (value: unknown, names: readonly string[]): unknown =>
    JSON.parse(
      JSON.stringify(value, (name, each: unknown) =>
        names.includes(name) ? undefined : typeof each === "bigint" ? String(each) : each,
      ),
    );
  const names = ["revision", "status", "etag", "lastUse"];
  const found: [string, unknown][] = [];
  for (const [rpc, request] of [
    ["ListSettings", {}],
    ["ListMounts", {}],
    ["ListRules", {}],
    ["ListSites", {}],
    ["ListWebhooks", {}],
    ["ListPrincipals", { pageSize: 100 }],
    ["ListTokens", { pageSize: 100 }],
  ] as const)
    found.push([rpc, without(await call(rpc, request), names)]);
  return Object.fromEntries(found);
}

type Entries = readonly Readonly<Record<string, unknown>>[];

/** An export, without its origin. */
async function exported(services: LocalServices, secrets: SecretsMode) {
  const { document } = (await services.call("ExportArchive", {
    secrets,
    passphrase: secrets === SecretsMode.SEAL ? "correct horse" : "",
  })) as unknown as { document: Readonly<Record<string, unknown>> };
  const { created, databaseId, revision, ...rest } = JSON.parse(JSON.stringify(document));
  return { document, content: rest as Readonly<Record<string, Entries>> };
}

async function imported({ call }: LocalServices, document: unknown, more: object = {}) {
  return (await call("ImportArchive", {
    document,
    passphrase: "correct horse",
    ...more,
  })) as Message & ImportArchiveResponse;
}

/** A site without its secrets: the keys of its secret overrides are excluded. */
function withoutOverrides(site: Readonly<Record<string, unknown>>) {
  const { omitted = [], exclude = [] } = site as Readonly<Record<string, readonly string[]>>;
  const keys = omitted.flatMap((name) => name.split("overrides/")[1] ?? []);
  return { ...site, omitted: ["token"], exclude: [...new Set([...exclude, ...keys])] };
}

const RUNS = { numRuns: 5, interruptAfterTimeLimit: 60_000 };

test.each([
  ["sealed", SecretsMode.SEAL],
  ["in the clear", SecretsMode.CLEAR],
])("a state whose secrets are %s is the same in an empty Mooring", async (_form, mode) => {
  await fc.assert(
    fc.asyncProperty(states, (state) =>
      withTwo(async (from, to) => {
        await create(from, state);
        const { document } = await exported(from, mode);
        const { results, skipped } = await imported(to, document);
        expect(results.filter(({ isLoss }) => isLoss)).toEqual([]);
        expect(skipped).toEqual([]);
        expect(await shown(to)).toEqual(await shown(from));
        // The secrets too, which no service shows: tokens of sites, hashes, keys of webhooks.
        const clear = (await exported(from, SecretsMode.CLEAR)).content;
        expect((await exported(to, SecretsMode.CLEAR)).content).toEqual(clear);
        const again = await imported(to, document);
        expect(again.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
      }),
    ),
    RUNS,
  );
});

test("a state without its secrets is the same in an empty Mooring, and names what is missing", async () => {
  await fc.assert(
    fc.asyncProperty(states, (state) =>
      withTwo(async (from, to) => {
        await create(from, state);
        const { document, content } = await exported(from, SecretsMode.OMIT);
        const { results, skipped } = await imported(to, document);
        expect(skipped).toEqual([]);
        const named = results.flatMap(({ part, name, missing }) =>
          missing.map((secret) => `${part} ${name} ${secret.split("/").at(-1)?.split(".").at(-1)}`),
        );
        // The present value of a setting stays, such as a default.
        const kept = results.flatMap(({ part, name, outcome, note }) =>
          part === "settings" && outcome === "unchanged" && note !== ""
            ? [`settings ${name} value`]
            : [],
        );
        const omitted = Object.entries(content).flatMap(([part, entries]) =>
          (Array.isArray(entries) ? (entries as Entries) : []).flatMap(
            ({ name, key = name, omitted: secrets = [] }) =>
              (secrets as readonly string[]).map(
                (secret) => `${part} ${key} ${secret.split("/").at(-1)}`,
              ),
          ),
        );
        expect([...named, ...kept].sort()).toEqual([...omitted].sort());
        const lossy = new Set(results.flatMap((result) => (result.isLoss ? [result.name] : [])));
        const isComplete = (each: Readonly<Record<string, unknown>>): boolean =>
          each["omitted"] === undefined && !lossy.has(String(each["key"] ?? each["name"]));
        const other = (await exported(to, SecretsMode.OMIT)).content;
        for (const part of ["settings", "mounts", "rules", "sites", "principals"])
          expect(other[part]?.filter(isComplete)).toEqual(content[part]?.filter(isComplete));
        // Entries without their secrets are the same too. Settings whose values on a site are not
        // known are excluded there, and webhooks without their address are disabled.
        for (const part of ["mounts", "rules", "principals"])
          expect(other[part]).toEqual(content[part]);
        expect(other["sites"]).toEqual(content["sites"]?.map(withoutOverrides));
        expect(other["webhooks"]).toEqual(
          // One without its token or headers has none that an export could omit.
          content["webhooks"]?.map((webhook) => ({
            ...webhook,
            disabled: true,
            omitted: ["url", "secret"],
          })),
        );
        // The secrets follow in a second import.
        const { document: clear } = await exported(from, SecretsMode.CLEAR);
        const filled = await imported(to, clear);
        expect(filled.results.filter(({ isLoss }) => isLoss)).toEqual([]);
        expect((await exported(to, SecretsMode.CLEAR)).content).toEqual(
          (await exported(from, SecretsMode.CLEAR)).content,
        );
      }),
    ),
    RUNS,
  );
});

test("a state written as a file that declares it is the same in an empty Mooring, and planned as it is applied", async () => {
  const folder = newDatabaseFolder();
  const path = join(folder, "state.yaml");
  const known = readKnownSettings();
  const options = { known, all: false, pathOf: (file: string) => `secrets/${file}`, comment: "" };
  /** The document of a written file, whose secrets are in files. */
  const declaredOf = async (document: Readonly<Record<string, unknown>>) => {
    const { text, secrets } = writeStateFile(document, options);
    const values = new Map(
      secrets.map(({ file, value }) => [join(folder, "secrets", file), value]),
    );
    const file = parseStateFile(text, {
      form: STATE_FILE,
      path,
      env: {},
      readFile: (each) => Buffer.from(values.get(each) ?? ""),
      parts: ["sites", "settings", "mounts", "rules", "webhooks", "principals"],
      shapeOf: (key) => known.get(key)?.shape,
    });
    expect(file.problems).toEqual([]);
    return { document: documentOf(file), text };
  };
  const more = { declared: true, includeServerOwn: true };
  await fc.assert(
    fc.asyncProperty(states, (state) =>
      withTwo(async (from, to) => {
        await create(from, state);
        const { document } = await declaredOf((await exported(from, SecretsMode.CLEAR)).document);
        const outcomes = ({ results }: ImportArchiveResponse) =>
          results.map(({ part, name, outcome, differs, effects }) => [
            part,
            name,
            outcome,
            differs,
            effects,
          ]);
        const plan = await imported(to, document, { ...more, dryRun: true });
        const applied = await imported(to, document, more);
        expect(outcomes(applied)).toEqual(outcomes(plan));
        expect(await shown(to)).toEqual(await shown(from));
        const again = await imported(to, document, { ...more, dryRun: true });
        expect(again.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
        expect(again.leftAlone.filter(({ part }) => part !== "settings")).toEqual([]);
        // The other way: the origin equals its own file, and the copy writes the same file.
        const back = await imported(from, document, { ...more, dryRun: true });
        expect(back.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
      }),
    ),
    RUNS,
  );
  await rm(folder, { recursive: true });
});
