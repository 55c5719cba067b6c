import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import type { AuditEvent } from "../../gen/mooring/v1/audit_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForEach } from "../started.ts";
import { as, give, jsonOf } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startRestartable, TOKEN } from "./service.ts";

const { getSetting, saveSettings } = SettingService.method;

const service = startedForEach(startRestartable);

/** All rows, oldest first. */
async function events(): Promise<readonly AuditEvent[]> {
  const request = { afterSequence: 0n, pageSize: 1_000 };
  return (await as(service.port).audit.listAuditEvents(request)).events;
}

const detailOf = ({ detail }: AuditEvent): Record<string, unknown> => JSON.parse(detail);
const byMethod = (all: readonly AuditEvent[], method: string): readonly AuditEvent[] =>
  all.filter((each) => each.method === method);

test("every change has its row, and no row has a secret", async () => {
  const root = as(service.port);
  const secret = "Secret-of-the-audit-0123456789abcdef";
  await root.settings.saveSettings({
    settings: [{ key: "aria2_secret", value: secret }],
    reason: "why",
  });
  await root.settings.saveSettings({
    settings: [{ key: "gone", value: secret, flag: 3, type: "string" }],
  });
  await root.settings.deleteSetting({ key: "gone" });
  await root.settings.rollback({ to: 1n, only: ["gone"] });
  const { document } = await root.backup.exportArchive({ only: ["settings"], secrets: 3 });
  await root.settings.saveSettings({ settings: [{ key: "site_title", value: "another" }] });
  await root.backup.importArchive({
    only: ["settings"],
    ...(document === undefined ? {} : { document }),
  });
  const { text, id } = await give(root, ["settings:read"], ["key:a*"], "anna");
  const next = await root.access.rotateToken({ id });
  await root.access.revokeToken({ id });
  await root.access.createPrincipal({ name: "otto", kind: 1 });
  await root.access.disablePrincipal({ name: "otto" });
  const { token } = await root.settings.resetToken({});
  await as(service.port, token).settings.saveSettings({
    settings: [{ key: "token", value: TOKEN }],
  });
  const all = await events();
  const find = (method: string) => byMethod(all, method)[0];
  expect(find("SaveSettings")).toMatchObject({
    actor: "admin",
    transport: "grpc",
    peer: "127.0.0.1",
    outcome: "OK",
    subjects: ["aria2_secret"],
  });
  expect(detailOf(find("SaveSettings") as AuditEvent)).toMatchObject({ keys: 1, reason: "why" });
  expect(find("DeleteSetting")?.subjects).toEqual(["gone"]);
  expect(find("ImportArchive")?.subjects).toContain("site_title");
  expect(find("ExportArchive")?.detail).toBe('{"secrets":"clear","parts":["settings"]}');
  expect(find("CreateToken")?.subjects).toEqual([`anna/${id}`]);
  expect(detailOf(find("CreateToken") as AuditEvent)).toMatchObject({
    scopes: ["settings:read"],
    limits: ["key:a*"],
    expires: expect.stringMatching(/^20/),
  });
  expect(find("RotateToken")?.subjects).toEqual([`anna/${id}`, `anna/${next.token?.id}`]);
  expect(find("RevokeToken")?.subjects).toEqual([`anna/${id}`]);
  expect(find("CreatePrincipal")?.subjects).toEqual(["otto"]);
  expect(find("DisablePrincipal")?.subjects).toEqual(["otto"]);
  expect(find("ResetToken")?.subjects).toEqual(["token"]);
  expect(all.map(({ sequence }) => Number(sequence))).toEqual(all.map((_row, at) => at + 1));
  const rows = jsonOf(all);
  for (const hidden of [secret, TOKEN, token, text.slice(17), next.secret.slice(17)])
    expect(rows).not.toContain(hidden);
});

test("reads of secrets are counted over every transport, and other reads are not", async () => {
  const { text } = await give(as(service.port), ["settings:read"], [], "reader");
  for (const { open } of sharedPortTransports) {
    const transport = open(service);
    for (const authorization of [TOKEN, text])
      for (const key of ["token", "site_title"])
        await transport.call(getSetting, create(getSetting.input, { key }), {
          headers: { authorization },
        });
    transport.close();
  }
  await as(service.port).settings.listSettings({});
  await as(service.port).settings.listSettings({ maskSecrets: true });
  await as(service.port).settings.batchGetSettings({ keys: ["site_title", "token"] });
  // Counted calls are written now.
  await service.restart();
  const all = await events();
  const [one, ...more] = byMethod(all, "GetSetting");
  expect(more).toEqual([]);
  expect(one).toMatchObject({ actor: "admin", subjects: ["token"], outcome: "OK", transport: "" });
  expect(detailOf(one as AuditEvent)).toMatchObject({
    count: sharedPortTransports.length,
    transports: expect.arrayContaining(["rest", "connect", "grpc-web", "grpc"]),
  });
  for (const method of ["ListSettings", "BatchGetSettings"]) {
    const rows = byMethod(all, method);
    expect(rows.map(({ subjects }) => subjects)).toEqual([expect.arrayContaining(["token"])]);
    expect(detailOf(rows[0] as AuditEvent)).toMatchObject({ count: 1 });
  }
});

test("refused calls are counted over every transport: without a token, with a wrong one, without the scope", async () => {
  const { text, id } = await give(as(service.port), ["drivers:read"], [], "driver");
  for (const { open } of sharedPortTransports) {
    const transport = open(service);
    for (const headers of [{}, { authorization: "wrong" }, { authorization: text }]) {
      const request = create(saveSettings.input, { settings: [{ key: "site_title", value: "x" }] });
      if (transport.carries(saveSettings)) await transport.call(saveSettings, request, { headers });
      await transport.call(getSetting, create(getSetting.input, { key: "token" }), { headers });
    }
    transport.close();
  }
  await service.restart();
  const refused = (await events()).filter(({ outcome }) => outcome !== "OK");
  const calls = 2 * sharedPortTransports.length - 1;
  const rows = refused.map((row) => [row.actor, row.outcome, detailOf(row)["reason"]]);
  expect(rows).toEqual([
    ["", "UNAUTHENTICATED", "no token"],
    ["", "UNAUTHENTICATED", "a wrong token"],
    [`driver/${id}`, "PERMISSION_DENIED", "the token does not have the right"],
  ]);
  for (const row of refused) {
    expect(detailOf(row)).toMatchObject({ count: calls, methods: ["SaveSettings", "GetSetting"] });
    expect(row).toMatchObject({ peer: "127.0.0.1", method: "" });
  }
  expect(refused[2]?.tokenId).toBe(id);
});

test("sites that are added, changed and removed, and writes to them, have rows", async () => {
  const site = await startStandIn({});
  const root = as(service.port);
  const { sites } = root;
  const token = site.token();
  await sites.createSite({ site: { name: "harbour", url: site.url, token } });
  await sites.syncSite({ name: "harbour", keys: ["site_title"] });
  await sites.updateSite({ name: "harbour", site: { paused: true } });
  await root.settings.saveSettings({ settings: [{ key: "site_title", value: "Pushed" }] });
  await sites.syncSite({ name: "harbour", keys: ["site_title"] });
  await sites.deleteSite({ name: "harbour" });
  await site.stop();
  const all = await events();
  const [made] = byMethod(all, "CreateSite");
  expect(made).toMatchObject({ subjects: ["harbour"], actor: "admin", transport: "grpc" });
  expect(detailOf(made as AuditEvent)).toEqual({ url: site.url, mode: "observe" });
  expect(byMethod(all, "UpdateSite").map(detailOf)).toEqual([{ changed: ["paused"] }]);
  const pushed = byMethod(all, "push").at(-1);
  expect(pushed).toMatchObject({ actor: "admin", subjects: ["harbour", "site_title"] });
  expect(detailOf(pushed as AuditEvent)).toMatchObject({ keys: 1, result: "on the site now" });
  expect(byMethod(all, "DeleteSite")).toHaveLength(1);
  expect(all.map(({ detail }) => detail).join()).not.toContain(token);
});
