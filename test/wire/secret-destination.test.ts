import { rootCertificates } from "node:tls";
import type { JsonObject } from "@bufbuild/protobuf";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { type As, as, give } from "./access-client.ts";
import { dav, observe } from "./following.ts";
import { startService } from "./service.ts";

const service = startedForAll(() => startService({ env: { MOORING_WEBHOOK_TARGETS: "any" } }));
const admin = startedForAll(() => as(service.port));
startedForAll(() => observe(admin, "quay", "pier"));

const WRITER = ["mounts:write", "history:rollback", "backup:import"];
let writer: As;
beforeAll(async () => {
  writer = as(service.port, (await give(admin, WRITER)).text);
});

const PASSWORD = "the-password-of-ann";
const THERE = "https://dav.example";
const ELSEWHERE = "https://evil.example";

beforeEach(async () => {
  await admin.mounts.deleteMounts({ names: ["dav"] }).catch(() => undefined);
  await admin.mounts.saveMounts({
    mounts: [dav("dav", PASSWORD, { mountPath: "/team/dav", sites: { names: ["quay"] } })],
  });
});

const shown = async (): Promise<JsonObject | undefined> =>
  (await admin.mounts.getMount({ name: "dav", reveal: true })).mount?.config;
type Input = NonNullable<Parameters<As["mounts"]["saveMounts"]>[0]["mounts"]>[number];
const save = (by: As, input: Omit<Input, "name">, dryRun = false) =>
  by.mounts.saveMounts({ mounts: [{ name: "dav", ...input } as Input], dryRun });

describe("without mounts:reveal a kept secret goes to no other destination", () => {
  test.each<[string, Omit<Input, "name">]>([
    ["another address", { config: { address: ELSEWHERE } }],
    ["another address with the mask", { config: { address: ELSEWHERE, password: "********" } }],
    ["no check of the certificate", { config: { tls_insecure_skip_verify: true } }],
    ["another vendor", { config: { vendor: "sharepoint" } }],
    ["an override of a site", { overrides: { quay: { config: { address: ELSEWHERE } } } }],
    ["another site", { sites: { names: ["quay", "pier"] } }],
    ["all sites", { sites: { all: true } }],
  ])("%s", async (_, input) => {
    for (const dryRun of [true, false])
      await expect(save(writer, input, dryRun)).rejects.toThrow(/password is required again/);
    expect(await shown()).toMatchObject({ address: THERE, password: PASSWORD });
    // Whoever may read it may send it anywhere.
    await save(admin, input);
  });

  test("but a secret that is sent, and other changes", async () => {
    await save(writer, { config: { address: ELSEWHERE, password: "another" } });
    expect(await shown()).toMatchObject({ address: ELSEWHERE, password: "another" });
    await save(writer, { config: { username: "bob", tls_insecure_skip_verify: false } });
  });

  test("and a change of a copy", async () => {
    await writer.mounts.copyMount({ name: "dav", newName: "copy", mountPath: "/team/copy" });
    const change = writer.mounts.saveMounts({
      mounts: [{ name: "copy", config: { address: ELSEWHERE } }],
    });
    await expect(change).rejects.toThrow(/password is required again/);
    await admin.mounts.deleteMounts({ names: ["copy"] });
  });

  test("and an import", async () => {
    const { document } = await writer.mounts.exportMounts({ names: ["dav"] });
    const moved = JSON.parse(JSON.stringify(document).replace(THERE, ELSEWHERE)) as JsonObject;
    const { results } = await writer.backup.importArchive({ only: ["mounts"], document: moved });
    expect(results).toMatchObject([{ outcome: "skipped", note: /required again/ }]);
    expect(await shown()).toMatchObject({ address: THERE, password: PASSWORD });
  });

  test("and a rollback", async () => {
    const { revision } = await save(admin, { config: { address: ELSEWHERE } });
    await save(admin, { config: { address: THERE } });
    const { results } = await writer.settings.rollback({ to: revision, only: ["mount:dav"] });
    expect(results).toMatchObject([{ outcome: "skipped", note: /config.password/ }]);
    expect(await shown()).toMatchObject({ address: THERE, password: PASSWORD });
    await admin.settings.rollback({ to: revision, only: ["mount:dav"] });
    expect(await shown()).toMatchObject({ address: ELSEWHERE, password: PASSWORD });
  });

  test("and a replacement of the address", async () => {
    const replace = { name: "dav", item: "address", value: ELSEWHERE };
    await expect(writer.mounts.replaceCredential(replace)).rejects.toThrow(/required again/);
  });
});

describe("without settings:reveal", () => {
  let limited: As;
  let settings: As;
  beforeAll(async () => {
    settings = as(
      service.port,
      (await give(admin, ["settings:write", "history:rollback", "backup:import"])).text,
    );
    limited = as(
      service.port,
      (await give(admin, ["settings:write", "settings:reveal"], ["key:ldap_server"])).text,
    );
  });
  beforeEach(async () => {
    await admin.settings.saveSettings({
      settings: [
        { key: "ldap_server", value: "ldaps://ldap.example" },
        { key: "ldap_manager_password", value: "ldap-password" },
        { key: "aria2_secret", value: "aria2-password" },
        { key: "sso_client_secret", value: "sso-password" },
      ],
    });
  });

  test.each([
    ["ldap_server", "ldap://evil.example"],
    ["ldap_skip_tls_verify", "true"],
    ["aria2_uri", "http://evil.example/jsonrpc"],
    ["sso_endpoint_name", "https://evil.example"],
    ["sso_login_platform", "OIDC"],
  ])("%s stays while its secret is kept", async (key, value) => {
    const inputs = { settings: [{ key, value }] };
    for (const by of key === "ldap_server" ? [settings, limited] : [settings]) {
      await expect(by.settings.saveSettings(inputs)).rejects.toThrow(/decides the destination/);
      await expect(by.settings.saveSettings({ ...inputs, dryRun: true })).rejects.toThrow(
        /decides the destination/,
      );
    }
    await admin.settings.saveSettings(inputs);
  });

  test("the secret may be sent along", async () => {
    await settings.settings.saveSettings({
      settings: [
        { key: "ldap_server", value: "ldap://other.example" },
        { key: "ldap_manager_password", value: "own" },
      ],
    });
    const masked = settings.settings.saveSettings({
      settings: [
        { key: "ldap_server", value: "ldap://third.example" },
        { key: "ldap_manager_password", value: "********" },
      ],
    });
    await expect(masked).rejects.toThrow(/decides the destination/);
  });

  test("a rollback leaves it, with the reason", async () => {
    const { revision } = await admin.settings.saveSettings({
      settings: [{ key: "ldap_server", value: "ldap://evil.example" }],
    });
    await admin.settings.saveSettings({
      settings: [{ key: "ldap_server", value: "ldaps://ldap.example" }],
    });
    const { results } = await settings.settings.rollback({ to: revision, only: ["ldap_server"] });
    expect(results).toMatchObject([
      { key: "ldap_server", outcome: "skipped", note: /decides the destination/ },
    ]);
  });

  test("an import is refused", async () => {
    const { document } = await admin.backup.exportArchive({ only: ["settings"], secrets: 1 });
    const moved = JSON.parse(
      JSON.stringify(document).replaceAll("ldaps://ldap.example", "ldap://evil.example"),
    ) as JsonObject;
    await expect(
      settings.backup.importArchive({ only: ["settings"], document: moved }),
    ).rejects.toThrow(/decides the destination/);
  });
});

describe("a stored credential is not used at another address", () => {
  test("the token of a site", async () => {
    const { site } = await admin.sites.getSite({ name: "quay" });
    const moved = startWholeSite();
    const { url, token, stop } = await moved;
    const change = admin.sites.updateSite({ name: "quay", site: { url } });
    await expect(change).rejects.toThrow(/token is required again/);
    await admin.sites.updateSite({ name: "quay", site: { url, token: token() } });
    await admin.sites.updateSite({ name: "quay", site: { url, paused: true } });
    expect(site?.url).not.toBe(url);
    await stop();
  });

  test.each([
    ["another authority", { ca: rootCertificates[0] ?? "" }, "ca"],
    ["another fingerprint", { certificateSha256: "ab".repeat(32) }, "certificate_sha256"],
    ["no fingerprint", { certificateSha256: "" }, "certificate_sha256"],
  ] as const)("the token and secrets of a site, also with %s", async (_, change, by) => {
    const site = {
      url: "https://127.0.0.1:1",
      token: "the-token-of-the-site",
      certificateSha256: "cd".repeat(32),
      overrides: { values: { aria2_secret: "secret-of-aria2" } },
    };
    const scopes = ["sites:manage", "settings:reveal", "mounts:reveal", "rules:reveal"];
    const manager = as(service.port, (await give(admin, scopes)).text);
    const { url, token, stop } = await startWholeSite();
    await admin.sites.createSite({ site: { name: "sealed", url, token: token() } });
    await stop();
    await admin.sites.updateSite({ name: "sealed", site });
    onTestFinished(() => admin.sites.deleteSite({ name: "sealed" }).then(() => undefined));
    const update = (who: As, more: object = {}) =>
      who.sites.updateSite({ name: "sealed", site: { ...change, ...more } });
    const problem = new RegExp(`^.*token is required again, because ${by} changes its destination`);
    await expect(update(manager)).rejects.toThrow(problem);
    await expect(update(manager, { token: site.token })).rejects.toThrow(
      /overrides\[aria2_secret\] is required again/,
    );
    await update(manager, { token: site.token, overrides: site.overrides });
    await admin.sites.updateSite({
      name: "sealed",
      site: { ca: "", certificateSha256: site.certificateSha256 },
    });
    // A change of the address alone, or of other members, is as before.
    await manager.sites.updateSite({ name: "sealed", site: { paused: true } });
    // The admin token reads every secret.
    await update(admin);
  });

  test.each([
    ["mounts", "mounts:reveal", ["sites:manage", "settings:reveal"]],
    ["folder rules", "rules:reveal", ["sites:manage", "settings:reveal", "mounts:reveal"]],
  ])("sites get %s, so that adding or changing one requires %s", async (_, missing, scopes) => {
    const { sites } = as(service.port, (await give(admin, scopes)).text);
    for (const call of [
      sites.updateSite({ name: "pier", site: { paused: true } }),
      sites.createSite({ site: { name: "new", url: ELSEWHERE, token: "x" } }),
    ])
      await expect(call).rejects.toThrow(missing);
  });

  test("the key of a webhook", async () => {
    await admin.webhooks.createWebhook({ webhook: { name: "hook", url: "https://one.example/a" } });
    const update = (url: string, secret?: string) =>
      admin.webhooks.updateWebhook({
        name: "hook",
        webhook: { url, ...(secret === undefined ? {} : { secret }) },
      });
    await update("https://one.example/b");
    await expect(update("https://two.example/b")).rejects.toThrow(/secret is required again/);
    await update("https://two.example/b", `whsec_${Buffer.alloc(32, 1).toString("base64")}`);
  });
});
