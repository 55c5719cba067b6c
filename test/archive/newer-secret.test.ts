// Import of an old backup into a live service: which newer secrets stay, and which results name them.
import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  type ArchiveResult,
  type ExportArchiveResponse,
  type ImportArchiveResponse,
  SecretsMode,
} from "../../gen/mooring/v1/backup_service_pb.js";
import { startLocalServices } from "../app/local-services.ts";
import { startedForEach } from "../started.ts";
import { newDatabaseFolder } from "../store/folder.ts";

const live = startedForEach(async () => {
  const folder = newDatabaseFolder();
  const services = await startLocalServices(folder);
  return {
    ...services,
    stop: async () => {
      await services.close();
      await rm(folder, { recursive: true });
    },
  };
});

const PASSPHRASE = "correct horse battery";
const KEY = (byte: number) => `whsec_${Buffer.alloc(24, byte).toString("base64")}`;

/** Stores a site by an import, which calls no server. */
async function site(members: object, secrets: object = {}): Promise<void> {
  const home = {
    name: "home",
    url: "http://127.0.0.1:9/home",
    mode: "observe",
    paused: true,
    ...members,
    secrets: { token: "old-token", "overrides/aria2_secret": "old-of-home", ...secrets },
  };
  const document = { format: "mooring-archive", version: 1, sites: [home] };
  await live.call("ImportArchive", { document, replaceSecrets: true });
}

/** One entry of each kind that has a secret. */
async function create(): Promise<void> {
  const { call } = live;
  await site({});
  await call("SaveSettings", { settings: [{ key: "aria2_secret", value: "old-secret" }] });
  await call("SaveMounts", {
    mounts: [
      {
        name: "dav",
        mountPath: "/dav",
        driver: "WebDav",
        config: { address: "https://dav.example", username: "ann", password: "old-password" },
        overrides: { home: { config: { password: "old-on-home" } } },
      },
    ],
  });
  await call("SaveRules", { rules: [{ path: "/dav", password: "old-password" }] });
  await call("CreateWebhook", {
    webhook: { name: "chat", url: "https://hook.example/old", secret: KEY(1) },
  });
}

async function backup(secrets = SecretsMode.SEAL): Promise<unknown> {
  const passphrase = secrets === SecretsMode.SEAL ? PASSPHRASE : "";
  const reply = await live.call("ExportArchive", { secrets, passphrase });
  return (reply as unknown as ExportArchiveResponse).document;
}

async function importing(document: unknown, more: object = {}): Promise<readonly ArchiveResult[]> {
  const request = { document, passphrase: PASSPHRASE, ...more };
  const reply = await live.call("ImportArchive", request);
  return (reply as unknown as ImportArchiveResponse).results;
}

/** All secrets as an export has them, by part and entry. */
async function stored(): Promise<Readonly<Record<string, unknown>>> {
  const document = (await backup(SecretsMode.CLEAR)) as Record<string, unknown>;
  return Object.fromEntries(
    ["sites", "settings", "mounts", "rules", "webhooks"].flatMap((part) =>
      (document[part] as readonly Record<string, unknown>[]).flatMap((entry) =>
        entry["secrets"] === undefined
          ? []
          : [[`${part} ${entry["name"] ?? entry["key"]}`, entry["secrets"]]],
      ),
    ),
  );
}

/** Makes a secret newer than the backup. */
type Change = () => Promise<unknown>;

const setting = (value: string) => () =>
  live.call("SaveSettings", { settings: [{ key: "aria2_secret", value }] });
const mount = (members: object) => () =>
  live.call("SaveMounts", { mounts: [{ name: "dav", ...members }] });
const rule = (members: object) => () =>
  live.call("SaveRules", { rules: [{ path: "/dav", ...members }] });
const webhook = (members: object) => () =>
  live.call("UpdateWebhook", { name: "chat", webhook: members });
const atHome = (members: object) => ({ overrides: { home: members } });

const NEW = { password: "new" };
const MOVED = { address: "https://new.example", password: "new" };
const ADDRESS = { url: "http://127.0.0.1:9/new" };
const CERTIFICATE = { certificateSha256: "ab".repeat(32) };
const TOKEN = { token: "new-token" };
const QBITTORRENT = { "overrides/qbittorrent_url": "http://ann:key@qbit.example/" };
const ARIA2 = { "overrides/aria2_secret": "new-of-home" };

/**
 * Changes with their entries, and the members that stay as they are here without the choice to replace
 * secrets; the last column has those that are no secrets.
 */
const CASES: readonly [what: string, Change, entry: string, kept: string, others?: string][] = [
  ["token of a site", () => site({}, TOKEN), "sites home", "token"],
  ["address of a site", () => site(ADDRESS, TOKEN), "sites home", "url token", "url"],
  [
    "certificate of a site",
    () => site(CERTIFICATE),
    "sites home",
    "certificateSha256",
    "certificateSha256",
  ],
  ["secret value of a site", () => site({}, ARIA2), "sites home", "overrides/aria2_secret"],
  [
    "secret value of a site that the archive does not have",
    () => site({}, QBITTORRENT),
    "sites home",
    "overrides/qbittorrent_url",
  ],
  ["address of a webhook", webhook({ url: "https://hook.example/new" }), "webhooks chat", "url"],
  ["key of a webhook", webhook({ secret: KEY(2) }), "webhooks chat", "secret"],
  ["secret setting", setting("new-secret"), "settings aria2_secret", "value"],
  ["secret of a mount", mount({ config: NEW }), "mounts dav", "config/password"],
  [
    "secret of a mount on a site",
    mount(atHome({ config: NEW })),
    "mounts dav",
    "overrides/home/config/password",
  ],
  [
    "address and secret of a mount",
    mount({ config: MOVED }),
    "mounts dav",
    "config/address config/password",
    "config/address",
  ],
  [
    "address and secret of a mount on a site",
    mount(atHome({ config: MOVED })),
    "mounts dav",
    "overrides/home/config/address overrides/home/config/password",
    "overrides/home/config/address",
  ],
  ["password of a rule on a site", rule(atHome(NEW)), "rules /dav", "overrides/home/password"],
  ["password of a rule", rule(NEW), "rules /dav", "password"],
];

test.each(CASES)(
  "a newer %s is named in the plan, and only a choice replaces it",
  async (_what, change, entry, names, others) => {
    const kept = names.split(" ");
    const secrets = kept.filter((name) => name !== others);
    await create();
    const old = await backup();
    const before = await stored();
    await change();
    const newer = await stored();
    const expected = { kept, replacedSecrets: [], newer: true, isLoss: true };
    const named = (results: readonly ArchiveResult[]) =>
      results
        .filter((result) => result.kept.length + result.replacedSecrets.length > 0)
        .map(({ part, name, ...rest }) => ({ entry: `${part} ${name}`, ...rest }));
    const plan = await importing(old, { dryRun: true });
    expect(named(plan)).toMatchObject([{ entry, ...expected }]);
    expect(await stored()).toEqual(newer);
    expect(named(await importing(old))).toMatchObject([{ entry, ...expected }]);
    expect(await stored()).toEqual(newer);
    // With the option, all secrets of the backup are restored.
    const results = await importing(old, { replaceSecrets: true });
    expect(results.flatMap(({ replacedSecrets }) => replacedSecrets)).toEqual(secrets);
    expect(results.filter(({ isLoss, kept: left }) => isLoss || left.length > 0)).toEqual([]);
    expect(await stored()).toEqual(before);
    expect(named(await importing(old))).toEqual([]);
  },
);

test("nothing is said to be newer than the archive of another database, or one that could be edited", async () => {
  await create();
  const sealed = (await backup()) as Record<string, unknown>;
  const clear = await backup(SecretsMode.CLEAR);
  await site({}, { token: "new-token" });
  for (const [document, newer] of [
    [sealed, true],
    [clear, false],
    [{ ...(clear as object), databaseId: "another" }, false],
  ] as const) {
    const results = await importing(document, { dryRun: true });
    expect(results.find(({ part }) => part === "sites")).toMatchObject({ kept: ["token"], newer });
  }
});

test("a site without a token, and a webhook without its address, get those of the archive", async () => {
  await create();
  const [open, sealed] = [await backup(SecretsMode.OMIT), await backup()];
  const before = await stored();
  await live.call("DeleteSite", { name: "home" });
  await live.call("DeleteWebhook", { name: "chat" });
  await importing(open);
  await importing(sealed);
  expect(await stored()).toEqual(before);
});

test("a stored secret stays in an import of rows of a server", async () => {
  await create();
  const before = await stored();
  const rows = {
    settings: [{ key: "aria2_secret", value: "of the server" }],
    storages: [
      {
        id: 1,
        mount_path: "/dav",
        driver: "WebDav",
        addition: JSON.stringify({ address: "https://other.example", password: "of the server" }),
      },
    ],
    metas: [{ id: 1, path: "/dav", password: "", p_sub: true }],
  };
  const kept = (results: readonly ArchiveResult[]) =>
    results.flatMap(({ part, kept: names }) => names.map((name) => `${part} ${name}`));
  const expected = [
    "settings value",
    "mounts config/address",
    "mounts config/password",
    "rules password",
  ];
  expect(kept(await importing(rows, { dryRun: true })).sort()).toEqual(expected.toSorted());
  expect(kept(await importing(rows)).sort()).toEqual(expected.toSorted());
  expect(await stored()).toEqual(before);
  const replaced = await importing(rows, { replaceSecrets: true });
  expect(kept(replaced)).toEqual([]);
  expect(await stored()).not.toEqual(before);
});

test("a secret setting with the default of the program counts as none", async () => {
  const settings = [{ key: "qbittorrent_url", value: "http://ann:key@qbit.example/" }];
  expect(await importing({ settings })).toMatchObject([{ outcome: "changed", kept: [] }]);
});
