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

interface Case {
  /** Makes a secret newer than the backup. */
  readonly change: () => Promise<unknown>;
  readonly entry: string;
  /** Members that stay as they are here, without the choice to replace secrets. */
  readonly kept: readonly string[];
  /** Secrets among them. Default: all. */
  readonly secrets?: readonly string[];
}

const webhook = (members: object) => () =>
  live.call("UpdateWebhook", { name: "chat", webhook: members });
const CASES: readonly [string, Case][] = [
  [
    "token of a site",
    { change: () => site({}, { token: "new-token" }), entry: "sites home", kept: ["token"] },
  ],
  [
    "address of a site",
    {
      change: () => site({ url: "http://127.0.0.1:9/new" }, { token: "new-token" }),
      entry: "sites home",
      kept: ["url", "token"],
      secrets: ["token"],
    },
  ],
  [
    "certificate of a site",
    {
      change: () => site({ certificateSha256: "ab".repeat(32) }),
      entry: "sites home",
      kept: ["certificateSha256"],
      secrets: [],
    },
  ],
  [
    "secret value of a site",
    {
      change: () => site({}, { "overrides/aria2_secret": "new-of-home" }),
      entry: "sites home",
      kept: ["overrides/aria2_secret"],
    },
  ],
  [
    "secret value of a site that the archive does not have",
    {
      change: () => site({}, { "overrides/qbittorrent_url": "http://ann:key@qbit.example/" }),
      entry: "sites home",
      kept: ["overrides/qbittorrent_url"],
    },
  ],
  [
    "address of a webhook",
    {
      change: webhook({ url: "https://hook.example/new" }),
      entry: "webhooks chat",
      kept: ["url"],
    },
  ],
  [
    "key of a webhook",
    { change: webhook({ secret: KEY(2) }), entry: "webhooks chat", kept: ["secret"] },
  ],
  [
    "secret setting",
    {
      change: () =>
        live.call("SaveSettings", { settings: [{ key: "aria2_secret", value: "new-secret" }] }),
      entry: "settings aria2_secret",
      kept: ["value"],
    },
  ],
  [
    "secret of a mount",
    {
      change: () =>
        live.call("SaveMounts", { mounts: [{ name: "dav", config: { password: "new" } }] }),
      entry: "mounts dav",
      kept: ["config/password"],
    },
  ],
  [
    "secret of a mount on a site",
    {
      change: () =>
        live.call("SaveMounts", {
          mounts: [{ name: "dav", overrides: { home: { config: { password: "new" } } } }],
        }),
      entry: "mounts dav",
      kept: ["overrides/home/config/password"],
    },
  ],
  [
    "address and secret of a mount",
    {
      change: () =>
        live.call("SaveMounts", {
          mounts: [{ name: "dav", config: { address: "https://new.example", password: "new" } }],
        }),
      entry: "mounts dav",
      kept: ["config/address", "config/password"],
      secrets: ["config/password"],
    },
  ],
  [
    "address and secret of a mount on a site",
    {
      change: () =>
        live.call("SaveMounts", {
          mounts: [
            {
              name: "dav",
              overrides: { home: { config: { address: "https://new.example", password: "new" } } },
            },
          ],
        }),
      entry: "mounts dav",
      kept: ["overrides/home/config/address", "overrides/home/config/password"],
      secrets: ["overrides/home/config/password"],
    },
  ],
  [
    "password of a rule on a site",
    {
      change: () =>
        live.call("SaveRules", {
          rules: [{ path: "/dav", overrides: { home: { password: "new" } } }],
        }),
      entry: "rules /dav",
      kept: ["overrides/home/password"],
    },
  ],
  [
    "password of a rule",
    {
      change: () => live.call("SaveRules", { rules: [{ path: "/dav", password: "new" }] }),
      entry: "rules /dav",
      kept: ["password"],
    },
  ],
];

test.each(CASES)(
  "a newer %s is named in the plan, and only a choice replaces it",
  async (_what, { change, entry, kept, secrets = kept }) => {
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
