import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Comments of the contract by full name, such as `mooring.v1.Setting.key`. */
export function readContractComments(): Readonly<Record<string, string>> {
  const file = join(import.meta.dirname, "../data/contract-comments.json");
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Header in the reference. */
export interface HeaderDocumentation {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly example?: string;
}

/** Request headers of every call, in addition to its token. */
export const requestHeaders: readonly HeaderDocumentation[] = [
  {
    name: "Mooring-At-Least-Revision",
    description:
      "The read has to show this revision or a later one: it waits for up to a second, and is UNAVAILABLE (503) then.",
    schema: { type: "integer", minimum: 0 },
    example: "1",
  },
  {
    name: "Accept-Language",
    description: "The language of texts, `en` or `zh-CN`; the parameter `hl` goes before it.",
    schema: { type: "string" },
    example: "zh-CN",
  },
  {
    name: "X-Request-Id",
    description: "Names the call in the log, the audit and the reply; else the service names it.",
    schema: { type: "string" },
  },
  {
    name: "Traceparent",
    description: "The span that the call belongs to (W3C Trace Context), where traces are sent.",
    schema: { type: "string" },
  },
];

/** Headers of every reply. */
export const replyHeaders: readonly HeaderDocumentation[] = [
  {
    name: "X-Request-Id",
    description: "Names the call in the log and the audit.",
    schema: { type: "string" },
  },
];

/** Additional headers of replies of an rpc. */
export const answerHeaders: readonly HeaderDocumentation[] = [
  {
    name: "Mooring-Stale-Seconds",
    description:
      "How old the reply may be, because the database does not answer: seconds since it has last done so. Absent: it answers.",
    schema: { type: "integer", minimum: 0 },
  },
];

/** A call over REST that shows how an rpc is used. */
export interface CallExample {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
}

const SETTINGS = "mooring.v1.SettingService";
const DRIVERS = "mooring.v1.DriverService";
const ACCESS = "mooring.v1.AccessService";
const AUDIT = "mooring.v1.AuditService";
const SITES = "mooring.v1.SiteService";
const MOUNTS = "mooring.v1.MountService";
const INCIDENTS = "mooring.v1.IncidentService";
const WEBHOOKS = "mooring.v1.WebhookService";
const SITE = { query: { name: "harbour" } };

/**
 * Example call of each rpc with parameters, by full name. A test sends every example to a new
 * service and validates the reply against its schema.
 */
export const examples: Readonly<Record<string, CallExample>> = {
  [`${MOUNTS}.GetMount`]: { query: { name: "films" } },
  [`${MOUNTS}.SaveMounts`]: {
    body: {
      mounts: [
        {
          name: "films",
          mount_path: "/films",
          driver: "Local",
          config: { root_folder_path: "/srv/films" },
          members: { remark: "all films" },
        },
      ],
      reason: "films for all sites",
    },
  },
  [`${MOUNTS}.ReplaceCredential`]: {
    body: { name: "films", item: "root_folder_path", value: "/srv/all-films", dry_run: true },
  },
  [`${MOUNTS}.CopyMount`]: {
    body: { name: "films", new_name: "films-2", mount_path: "/films-2" },
  },
  [`${MOUNTS}.RenameMount`]: { body: { name: "films-2", new_name: "old-films" } },
  [`${MOUNTS}.DeleteMounts`]: { body: { names: ["old-films"] } },
  [`${MOUNTS}.CompareMounts`]: { body: { site: "harbour" } },
  [`${MOUNTS}.SyncMounts`]: { body: { site: "harbour" } },
  [`${MOUNTS}.AdoptMounts`]: { body: { site: "harbour", dry_run: true } },
  [`${MOUNTS}.RollbackMounts`]: { body: { revision: 1, dry_run: true } },
  [`${MOUNTS}.ImportMounts`]: {
    body: {
      document: {
        storages: [
          { mount_path: "/books", driver: "Local", addition: '{"root_folder_path":"/srv/books"}' },
        ],
      },
      dry_run: true,
    },
  },
  [`${MOUNTS}.ExportMounts`]: { body: { site: "" } },
  [`${INCIDENTS}.GetIncident`]: { query: { id: "Zm9vYmFyYmF6" } },
  [`${INCIDENTS}.AcknowledgeIncident`]: { body: { id: "Zm9vYmFyYmF6", note: "cookie ordered" } },
  [`${WEBHOOKS}.CreateWebhook`]: {
    body: {
      name: "chat",
      url: "https://chat.example/hooks/3f1c",
      classes: { classes: ["INCIDENT_CLASS_CREDENTIAL"] },
    },
  },
  [`${WEBHOOKS}.UpdateWebhook`]: { query: { name: "harbour" }, body: { disabled: true } },
  [`${WEBHOOKS}.DeleteWebhook`]: { query: { name: "harbour" } },
  [`${WEBHOOKS}.TestWebhook`]: { query: { name: "harbour" } },
  [`${WEBHOOKS}.ListWebhookDeliveries`]: { query: { name: "harbour" } },
  [`${WEBHOOKS}.ResendWebhookDelivery`]: { query: { id: "Zm9vYmFyYmF6" } },
  [`${DRIVERS}.GetDriver`]: { query: { driver: "S3" } },
  [`${DRIVERS}.GetDriverSchema`]: { query: { driver: "Local" } },
  [`${DRIVERS}.ValidateDriverConfig`]: {
    body: { driver: "Local", values: { mount_path: "/home", root_folder_path: "/srv/files" } },
  },
  [`${SETTINGS}.ListSettings`]: { query: { groups: "1,4", mask_secrets: "true" } },
  [`${SETTINGS}.GetSetting`]: { query: { key: "site_title" } },
  [`${SETTINGS}.BatchGetSettings`]: { query: { keys: "site_title,announcement" } },
  [`${SETTINGS}.SaveSettings`]: {
    query: { reason: "new name" },
    body: [
      { key: "site_title", value: "Harbour" },
      { key: "default_page_size", value: "50" },
    ],
  },
  [`${SETTINGS}.DeleteSetting`]: { query: { key: "a_deprecated_one" } },
  [`${SETTINGS}.SetAria2`]: { body: { uri: "http://127.0.0.1:6800/jsonrpc", secret: "" } },
  [`${SETTINGS}.SetQbittorrent`]: { body: { url: "http://127.0.0.1:8080/", seedtime: 0 } },
  [`${SETTINGS}.ListRevisions`]: { query: { page_size: "20" } },
  [`${SETTINGS}.GetRevision`]: { query: { revision: "1" } },
  [`${SETTINGS}.DiffRevisions`]: { query: { from: "1", to: "1" } },
  [`${SETTINGS}.Rollback`]: { body: { to: "1", dry_run: true } },
  [`${SETTINGS}.ExportSettings`]: { body: { secrets: "SECRETS_MODE_OMIT" } },
  [`${SETTINGS}.ImportSettings`]: {
    body: {
      dry_run: true,
      document: {
        format: "mooring-settings",
        version: 1,
        settings: [{ key: "site_title", value: "Harbour" }],
      },
    },
  },
  [`${ACCESS}.CreatePrincipal`]: { body: { name: "anna", kind: "PRINCIPAL_KIND_PERSON" } },
  [`${ACCESS}.DisablePrincipal`]: { body: { name: "somebody" } },
  [`${ACCESS}.ListTokens`]: { query: { active: "true" } },
  [`${ACCESS}.CreateToken`]: {
    body: { principal: "dashboard", scopes: ["settings:read"], limits: ["group:1"] },
  },
  [`${ACCESS}.RotateToken`]: { body: { id: "0123456789ab", overlap: "86400s" } },
  [`${ACCESS}.RevokeToken`]: { body: { id: "0123456789ab" } },
  [`${AUDIT}.ListAuditEvents`]: { query: { subject: "site_*", page_size: "20" } },
  [`${SITES}.GetSite`]: SITE,
  [`${SITES}.CreateSite`]: {
    body: {
      name: "harbour",
      url: "http://127.0.0.1:5245",
      token: "openlist-1a2b3c",
      mode: "SITE_MODE_OBSERVE",
    },
  },
  [`${SITES}.UpdateSite`]: { ...SITE, body: { mode: "SITE_MODE_FOLLOW" } },
  [`${SITES}.DeleteSite`]: SITE,
  [`${SITES}.CheckSite`]: SITE,
  [`${SITES}.CompareSite`]: SITE,
  [`${SITES}.AdoptSite`]: { body: { name: "harbour", dry_run: true } },
  [`${SITES}.SyncSite`]: { body: { name: "harbour", dry_run: true } },
  [`${SITES}.ListSiteLog`]: SITE,
};
