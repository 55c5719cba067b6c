import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";

/** What the contract's comments say, by full name, such as `mooring.v1.Setting.key`. */
export function readContractComments(): Readonly<Record<string, string>> {
  const file = join(import.meta.dirname, "../data/contract-comments.json");
  return JSON.parse(readFileSync(file, "utf8"));
}

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
const SITE = { query: { name: "harbour" } };

/**
 * An example for each rpc that takes something, by its full name. A test calls each of them on a new
 * service and holds the reply against its schema.
 */
export const examples: Readonly<Record<string, CallExample>> = {
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
