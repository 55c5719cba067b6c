// Imports by tokens with fewer rights than the permanent one: they store and show no more than calls do.
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { SecretsMode } from "../../gen/mooring/v1/backup_service_pb.js";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { quickKey } from "../archive/text.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll, startedForEach } from "../started.ts";
import { type As, as, give } from "./access-client.ts";
import { startRestartable, startService } from "./service.ts";

const home = startedForAll(startStandIn);
const other = startedForAll(startStandIn);
const service = startedForEach(() =>
  startRestartable({ env: { MOORING_SECRET_KEY: "ab".repeat(32) } }),
);

const at = (text?: string, { port }: { readonly port: number } = service): As => as(port, text);
const withScopes = async (...scopes: string[]): Promise<As> =>
  at((await give(at(), ["backup:import", ...scopes])).text);

const archiveOf = (parts: JsonObject): JsonObject => ({
  format: "mooring-archive",
  version: 1,
  ...parts,
});

const entriesOf = (document: JsonObject | undefined, part: string) =>
  (document?.[part] ?? []) as JsonObject[];

/** Results of dry imports of two documents, one with the stored secrets, which must be equal. */
async function shownFor(
  { backup }: As,
  [right, wrong]: readonly [JsonObject, JsonObject],
  replaceSecrets: boolean,
) {
  const planned = { replaceSecrets, dryRun: true };
  const { results } = await backup.importArchive({ document: right, ...planned });
  const other = await backup.importArchive({ document: wrong, ...planned });
  expect(results).toEqual(other.results);
  return results;
}

/** Subjects of the imports in the audit; a dry run is there if it could be a guess. */
async function auditedImports(): Promise<readonly string[]> {
  // Counted calls are written now.
  await service.restart();
  const { events } = await at().audit.listAuditEvents({ methods: ["ImportArchive"] });
  return events.flatMap(({ subjects }) => subjects);
}

const SITE_SCOPES = ["sites:manage", "settings:reveal", "mounts:reveal", "rules:reveal"];

describe("sites", () => {
  const entry = (more: JsonObject = {}): JsonObject => ({
    name: "home",
    url: home.url,
    mode: "observe",
    ...more,
  });

  test.each(SITE_SCOPES)("are imported only with %s, as they are created", async (missing) => {
    const caller = await withScopes(...SITE_SCOPES.filter((scope) => scope !== missing));
    const document = archiveOf({ sites: [entry({ secrets: { token: "t" } })] });
    const { results, skipped } = await caller.backup.importArchive({ document });
    expect(results).toEqual([]);
    expect(skipped).toMatchObject([
      { part: "sites", count: 1, reason: expect.stringContaining(missing) },
    ]);
    await expect(caller.backup.importArchive({ document, only: ["sites"] })).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
    expect((await at().sites.listSites({})).sites).toEqual([]);
  });

  describe("with a secret of their own", () => {
    const create = async (): Promise<void> => {
      const { sites } = at();
      await sites.createSite({ site: { name: "home", url: home.url, token: home.token() } });
      const values = { aria2_secret: "kept-secret", site_title: "open" };
      await sites.updateSite({ name: "home", site: { overrides: { values } } });
    };
    const redirect = (more: JsonObject = {}): JsonObject =>
      archiveOf({
        sites: [
          entry({
            url: other.url,
            overrides: { site_title: "open" },
            secrets: { token: other.token() },
            omitted: ["overrides/aria2_secret"],
            ...more,
          }),
        ],
      });

    test.each<[string, JsonObject]>([
      ["omitted", {}],
      ["masked", { overrides: { aria2_secret: "********" }, omitted: [] }],
    ])("that is %s do not send it to another address", async (_form, more) => {
      await create();
      const caller = await withScopes(...SITE_SCOPES);
      const { results } = await caller.backup.importArchive({
        document: redirect(more),
        replaceSecrets: true,
      });
      expect(results).toMatchObject([
        { name: "home", outcome: "skipped", isLoss: true, note: expect.stringContaining("url") },
      ]);
      const { site } = await at().sites.getSite({ name: "home" });
      expect(site?.url).toBe(home.url);
      const { results: byRoot } = await at().backup.importArchive({
        document: redirect(more),
        replaceSecrets: true,
      });
      expect(byRoot).toMatchObject([{ name: "home", outcome: "changed" }]);
    });

    test("do not send it to another address by UpdateSite either", async () => {
      await create();
      const site = { url: other.url, token: other.token() };
      const { sites } = await withScopes(...SITE_SCOPES);
      await expect(sites.updateSite({ name: "home", site })).rejects.toMatchObject({
        code: Code.InvalidArgument,
        rawMessage: expect.stringContaining("overrides[aria2_secret]"),
      });
      await sites.updateSite({
        name: "home",
        site: { ...site, overrides: { values: { aria2_secret: "sent again" } } },
      });
    });

    test("show no caller without the permanent token whether a guess of it is right", async () => {
      await create();
      const caller = await withScopes(...SITE_SCOPES, "audit:read");
      const overrides = { site_title: "open" };
      const guess = (token: string, secret: string) => {
        const secrets = { token, "overrides/aria2_secret": secret };
        return archiveOf({ sites: [entry({ overrides, secrets })] });
      };
      const guesses = [guess(home.token(), "kept-secret"), guess("wrong", "wrong")] as const;
      expect(await shownFor(caller, guesses, true)).toMatchObject([
        { outcome: "changed", differs: expect.arrayContaining(["token", "overrides"]) },
      ]);
      expect(await shownFor(caller, guesses, false)).toMatchObject([
        { kept: ["token", "overrides/aria2_secret"] },
      ]);
      const rows = async (site: { token?: string; overrides?: object }) => {
        await caller.sites.updateSite({ name: "home", site });
        const { events } = await caller.audit.listAuditEvents({ pageSize: 1 });
        return events.map(({ detail }) => detail);
      };
      expect(await rows({ token: home.token() })).toEqual(await rows({ token: "wrong-token" }));
      expect(await auditedImports()).toContain("home");
    });
  });

  test("that follow are observed until they are compared, unless the permanent token restores them", async () => {
    const document = archiveOf({
      sites: [entry({ mode: "follow", secrets: { token: home.token() } })],
    });
    const caller = await withScopes(...SITE_SCOPES, "settings:write");
    const { results } = await caller.backup.importArchive({ document });
    expect(results).toMatchObject([
      {
        outcome: "created",
        leftOut: ["mode"],
        effects: [],
        note: expect.stringContaining("compare"),
      },
    ]);
    const mode = async () => (await at().sites.getSite({ name: "home" })).site?.mode;
    expect(await mode()).toBe(SiteMode.OBSERVE);
    // The permanent token too does not make an existing site follow without a comparison.
    await at().backup.importArchive({ document });
    expect(await mode()).toBe(SiteMode.OBSERVE);
    await at().sites.adoptSite({ name: "home" });
    await caller.backup.importArchive({ document });
    expect(await mode()).toBe(SiteMode.FOLLOW);
    await at().sites.deleteSite({ name: "home" });
    await at().backup.importArchive({ document, pauseSites: true });
    expect(await mode()).toBe(SiteMode.FOLLOW);
  });
});

describe("principals", () => {
  const ID = "A".repeat(12);
  const HASH = "h".repeat(43);
  const entry = (scopes: string[], more: JsonObject = {}): JsonObject => ({
    name: "eve",
    tokens: [{ id: ID, scopes, limits: [] }],
    ...more,
  });

  test("get the hash of a stored token only from a caller with its rights", async () => {
    await at().backup.importArchive({
      document: archiveOf({ principals: [entry(["settings:reveal"])] }),
    });
    const caller = await withScopes("tokens:manage", "settings:read");
    // The entry names fewer rights than the stored token has.
    const document = archiveOf({
      principals: [entry(["settings:read"], { secrets: { [`tokens/${ID}`]: HASH } })],
    });
    const { results } = await caller.backup.importArchive({ document });
    expect(results).toMatchObject([
      {
        outcome: "unchanged",
        leftOut: [`tokens.${ID}`],
        isLoss: true,
        note: expect.stringContaining("settings:reveal"),
      },
    ]);
    const hashes = async () => {
      const { document } = await at().backup.exportArchive({
        only: ["principals"],
        names: ["eve"],
        secrets: SecretsMode.CLEAR,
      });
      return entriesOf(document, "principals")[0]?.["secrets"];
    };
    expect(await hashes()).toBeUndefined();
    await at().backup.importArchive({ document });
    expect(await hashes()).toEqual({ [`tokens/${ID}`]: HASH });
  });

  const forged = (): JsonObject =>
    archiveOf({
      principals: [
        {
          name: "eve",
          createdBy: "somebody",
          tokens: [
            {
              id: ID,
              scopes: ["settings:read"],
              createdBy: "somebody",
              revoked: "2026-01-01T00:00:00.000Z",
              revokedBy: "somebody",
              replacedBy: "B".repeat(12),
            },
          ],
        },
      ],
      webhooks: [{ name: "chat", target: "https://hook.example", createdBy: "somebody" }],
    });
  const authors = async () => {
    const { principals } = await at().access.listPrincipals({});
    const { tokens } = await at().access.listTokens({ principal: "eve" });
    const { webhooks } = await at().webhooks.listWebhooks({});
    const { document } = await at().backup.exportArchive({ only: ["principals"], names: ["eve"] });
    const [{ tokens: exported = [] } = {}] = entriesOf(document, "principals");
    const [{ replacedBy, revokedBy } = {}] = exported as JsonObject[];
    const eve = principals.find(({ name }) => name === "eve");
    return [
      eve?.createdBy,
      ...tokens.map(({ createdBy }) => createdBy),
      ...webhooks.map(({ createdBy }) => createdBy),
      revokedBy,
      replacedBy,
    ];
  };

  test("and webhooks name their importer as creator, unless the permanent token restores them", async () => {
    const { text, id } = await give(at(), [
      "backup:import",
      "tokens:manage",
      "settings:read",
      "webhooks:manage",
    ]);
    await at(text).backup.importArchive({ document: forged() });
    const name = `tester/${id}`;
    expect(await authors()).toEqual([name, name, name, name, undefined]);
  });

  test("and webhooks restored by the permanent token keep their creators", async () => {
    await at().backup.importArchive({ document: forged() });
    expect(await authors()).toEqual([...Array(4).fill("somebody"), "B".repeat(12)]);
  });

  test.each<[string, JsonObject]>([
    ["longer than 128 characters", { createdBy: "x".repeat(129) }],
    ["with NUL", { createdBy: "a\0" }],
  ])("with a creator %s are skipped", async (_problem, more) => {
    const document = archiveOf({
      principals: [{ name: "eve", tokens: [], ...more }],
      webhooks: [{ name: "chat", target: "https://hook.example", ...more }],
    });
    const results = await at()
      .backup.importArchive({ document })
      .then(({ results: all }) => all.map(({ outcome }) => outcome))
      .catch((error: { code: Code }) => error.code);
    expect([["skipped", "skipped"], Code.InvalidArgument]).toContainEqual(results);
    expect((await at().access.listPrincipals({})).principals).toEqual([]);
  });

  test("with a successor that is no token are imported without that token", async () => {
    const tokens = [{ id: ID, scopes: ["settings:read"], replacedBy: "admin" }];
    const document = archiveOf({ principals: [{ name: "eve", tokens }] });
    const { results } = await at().backup.importArchive({ document });
    expect(results).toMatchObject([{ leftOut: [`tokens.${ID}`] }]);
  });
});

test("a webhook shows no caller without the permanent token whether its address or key is guessed", async () => {
  const secret = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
  const wrong = `whsec_${Buffer.alloc(24, 2).toString("base64")}`;
  const url = "https://hook.example/key=1";
  await at().webhooks.createWebhook({ webhook: { name: "chat", url, secret } });
  const caller = await withScopes("webhooks:manage", "audit:read");
  const guess = (secrets: JsonObject) =>
    archiveOf({ webhooks: [{ name: "chat", target: "https://hook.example", secrets }] });
  const guesses = [
    guess({ url, secret }),
    guess({ url: "https://hook.example/key=2", secret: wrong }),
  ] as const;
  expect(await shownFor(caller, guesses, true)).toMatchObject([
    { outcome: "changed", differs: ["url", "secret"] },
  ]);
  expect(await shownFor(caller, guesses, false)).toMatchObject([{ kept: ["url", "secret"] }]);
  const row = async (webhook: object) => {
    await caller.webhooks.updateWebhook({ name: "chat", webhook });
    const { events } = await caller.audit.listAuditEvents({ pageSize: 1 });
    return events.map(({ method, detail }) => [method, detail]);
  };
  expect(await row({ url })).toEqual(await row({ url: "https://hook.example/key=3" }));
  expect(await auditedImports()).toContain("chat");
});

test("a passphrase of an import or export has at most 1,024 characters", async () => {
  const { backup } = at();
  const long = "🌊".repeat(1_025);
  const exported = backup.exportArchive({ secrets: SecretsMode.SEAL, passphrase: long });
  await expect(exported).rejects.toMatchObject({ code: Code.InvalidArgument });
  const document = archiveOf({ sites: [] });
  const given = (passphrase: string) => backup.importArchive({ document, passphrase });
  await expect(given(long)).rejects.toMatchObject({
    code: Code.InvalidArgument,
    rawMessage: expect.stringContaining("1024"),
  });
  await given("🌊".repeat(1_024));
});

test("an import that waits ends with the token of its caller", async () => {
  const derived = Promise.withResolvers<Buffer>();
  const begun = Promise.withResolvers<void>();
  const slow = await startService({
    deriveKey: (...of) => {
      if (of[0] !== "a slow passphrase") return quickKey(...of);
      begun.resolve();
      return derived.promise;
    },
  });
  onTestFinished(slow.stop);
  const root = at(undefined, slow);
  const { document } = await root.backup.exportArchive({
    secrets: SecretsMode.SEAL,
    passphrase: "long enough",
  });
  const ahead = root.backup
    .importArchive({ document, passphrase: "a slow passphrase" })
    .catch((error: unknown) => error);
  await begun.promise;
  const { text, id } = await give(root, ["backup:import", "settings:write"]);
  const setting = { key: "site_title", value: "after the end", type: "string" };
  const waiting = at(text, slow)
    .backup.importArchive({ document: archiveOf({ settings: [setting] }) })
    .catch((error: unknown) => error);
  await root.access.revokeToken({ id });
  expect(await waiting).toMatchObject({ code: Code.Unauthenticated });
  derived.resolve(Buffer.alloc(32));
  expect(await ahead).toMatchObject({ code: Code.InvalidArgument });
  const { setting: stored } = await root.settings.getSetting({ key: "site_title" });
  expect(stored?.value).not.toBe("after the end");
});

test("what a server has beside is restored by the permanent token alone: a document could name an administrator", async () => {
  const { text } = await give(at(), [
    "backup:import",
    "users:write",
    "sites:manage",
    "settings:reveal",
    "mounts:reveal",
    "rules:reveal",
  ]);
  const contents = JSON.stringify({ users: [], rules: [], shares: [] });
  const document = archiveOf({ servers: [{ name: "home", secrets: { contents } }] });
  const { results, skipped } = await at(text).backup.restoreBackup({ document });
  expect(results).toEqual([]);
  expect(skipped).toMatchObject([
    { part: "servers", count: 1, reason: expect.stringContaining("permanent admin token") },
  ]);
  await expect(
    at(text).backup.importArchive({ document, only: ["servers"] }),
  ).rejects.toMatchObject({ code: Code.PermissionDenied });
});
