import type { DescMessage } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { servedServices } from "../../src/app/routes.ts";
import { startedForAll } from "../started.ts";
import { type As, as } from "./access-client.ts";
import { dav } from "./following.ts";
import { startRestartable } from "./service.ts";

/** Reads of secrets in the clear: calls whose secrets the audit names. */
const READS: Readonly<Record<string, (by: As) => Promise<unknown>>> = {
  "SettingService/ListSettings": ({ settings }) => settings.listSettings({}),
  "SettingService/GetSetting": ({ settings }) => settings.getSetting({ key: "aria2_secret" }),
  "SettingService/BatchGetSettings": ({ settings }) =>
    settings.batchGetSettings({ keys: ["aria2_secret"] }),
  "BackupService/ExportArchive": ({ backup }) =>
    backup.exportArchive({ only: ["settings"], secrets: 3 }),
  "MountService/ListMounts": ({ mounts }) => mounts.listMounts({ reveal: true }),
  "MountService/GetMount": ({ mounts }) => mounts.getMount({ name: "dav", reveal: true }),
  "RuleService/ListRules": ({ rules }) => rules.listRules({ reveal: true }),
  "RuleService/GetRule": ({ rules }) => rules.getRule({ path: "/r", reveal: true }),
  "MountService/ExportMounts": ({ mounts }) => mounts.exportMounts({ reveal: true }),
};

/** Other replies with texts that could be secrets, and the reasons for which they have none. */
const NEVER: Readonly<Record<string, string>> = {
  "SettingService/ListDefaultSettings": "defaults of the program",
  "SettingService/SaveSettings": "values of secrets are masked",
  "SettingService/WatchSettings": "values of secrets are masked",
  "SettingService/GetRevision": "values of secrets are not in the history",
  "SettingService/DiffRevisions": "values of secrets are not in the history",
  "SettingService/Rollback": "values of secrets are masked",
  "SettingService/ResetToken": "a new token; the change has a row",
  "AccessService/CreateToken": "a new token; the change has a row",
  "AccessService/RotateToken": "a new token; the change has a row",
  "WebhookService/CreateWebhook": "a new key; the change has a row",
  "WebhookService/ListWebhooks": "whether there is a token",
  "WebhookService/UpdateWebhook": "whether there is a token",
  "BackupService/CreateBackup": "secrets are sealed; the backup has a row",
  "BackupService/CheckBackup": "names of losses",
  "BackupService/ImportArchive": "no password: a restore alone creates users",
  "BackupService/RestoreBackup": "passwords of new users; the change has a row",
  "UserService/CopyUsers": "passwords of new users; the change has a row",
  "MountService/CopyMount": "secrets are masked",
  "MountService/RenameMount": "secrets are masked",
  "MountService/WatchMounts": "secrets are masked",
  "RuleService/WatchRules": "passwords are masked",
  "DriverService/ValidateDriverConfig": "values of the request",
  "DriverService/GetDriverSchema": "a form without values",
  "DriverService/GetDriver": "a form without values",
  "DriverService/ListDrivers": "forms without values",
  "SiteService/CompareSite": "values of secrets are left out",
  "SiteService/SyncSite": "values of secrets are left out",
};

/** Reports whether a message has free JSON, or a text that is named like a value or a secret. */
function mayHoldSecret(message: DescMessage, seen: Set<string> = new Set()): boolean {
  if (seen.has(message.typeName)) return false;
  seen.add(message.typeName);
  return message.fields.some((field) => {
    if (field.message?.typeName === "google.protobuf.Struct") return true;
    if (field.message !== undefined) return mayHoldSecret(field.message, seen);
    return (
      /(?:^|_)(?:secret|token|value|password|key_text)$/.test(field.name) &&
      !field.name.includes("page_token")
    );
  });
}

const service = startedForAll(startRestartable);

test("every rpc whose reply may have a secret is listed, with its audit or the reason for none", () => {
  const found = servedServices.flatMap(({ name, methods }) =>
    methods.filter(({ output }) => mayHoldSecret(output)).map((rpc) => `${name}/${rpc.name}`),
  );
  expect(found.toSorted()).toEqual([...Object.keys(READS), ...Object.keys(NEVER)].toSorted());
});

test("every read of a secret has a row, and an export before its reply", async () => {
  const root = as(service.port);
  await root.settings.saveSettings({ settings: [{ key: "aria2_secret", value: "s-1" }] });
  const names = Array.from({ length: 130 }, (_, at) => `m${at}`);
  await root.mounts.saveMounts({ mounts: ["dav", ...names].map((name) => dav(name, "p-1")) });
  await root.rules.saveRules({ rules: [{ path: "/r", password: "p-1" }] });
  for (const read of Object.values(READS)) await read(root);
  const { events } = await root.audit.listAuditEvents({ pageSize: 100 });
  const exported = events.filter(({ method }) => method === "ExportMounts");
  expect(exported.flatMap(({ subjects }) => subjects).toSorted()).toEqual(
    ["dav", ...names].map((name) => `mount:${name}:password`).toSorted(),
  );
  await service.restart();
  const { events: all } = await as(service.port).audit.listAuditEvents({ pageSize: 100 });
  for (const rpc of Object.keys(READS)) {
    const method = rpc.split("/")[1];
    expect(
      all.filter((event) => event.method === method),
      rpc,
    ).not.toEqual([]);
  }
  const listed = all.filter(({ method }) => method === "ListMounts");
  expect(listed.flatMap(({ subjects }) => subjects)).toHaveLength(131);
});
