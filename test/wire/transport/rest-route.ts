import type { DescMethod } from "@bufbuild/protobuf";
import { AccessService } from "../../../gen/mooring/v1/access_service_pb.js";
import { AuditService } from "../../../gen/mooring/v1/audit_service_pb.js";
import { BackupService } from "../../../gen/mooring/v1/backup_service_pb.js";
import { DriverService } from "../../../gen/mooring/v1/driver_service_pb.js";
import { IncidentService } from "../../../gen/mooring/v1/incident_service_pb.js";
import { MountService } from "../../../gen/mooring/v1/mount_service_pb.js";
import { PublicService } from "../../../gen/mooring/v1/public_service_pb.js";
import { RuleService } from "../../../gen/mooring/v1/rule_service_pb.js";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../../gen/mooring/v1/site_service_pb.js";
import { StatusService } from "../../../gen/mooring/v1/status_service_pb.js";
import { UserService } from "../../../gen/mooring/v1/user_service_pb.js";
import { WebhookService } from "../../../gen/mooring/v1/webhook_service_pb.js";

/**
 * A method's REST form according to its documentation: written by hand, not read from the options.
 */
export interface RestRoute {
  readonly verb: "GET" | "POST";
  readonly path: string;
  /** The member that is the body, `*` for the whole request; undefined: no body. */
  readonly body?: string;
  /** The member in `data`, `*` for the whole reply; undefined: `data` is null. */
  readonly data?: string;
  /** Lists in one parameter, separated by commas. */
  readonly lists?: readonly string[];
  /** The reply is bare text. */
  readonly text?: true;
}

const { method: open } = PublicService;
const { method: driver } = DriverService;
const { method: setting } = SettingService;
const { method: backup } = BackupService;
const { method: audit } = AuditService;
const { method: access } = AccessService;
const { method: site } = SiteService;
const { method: user } = UserService;
const { method: mount } = MountService;
const { method: rule } = RuleService;
const { method: incident } = IncidentService;
const { method: webhook } = WebhookService;
const { method: status } = StatusService;

const DRIVER = "/api/admin/driver";
const SETTING = "/api/admin/setting";
const BACKUP = "/api/admin/backup";
const AUDIT = "/api/admin/audit";
const ACCESS = "/api/admin/access";
const SITE = "/api/admin/site";
const MOUNT = "/api/admin/mount";
const RULE = "/api/admin/rule";
const INCIDENT = "/api/admin/incident";
const WEBHOOK = "/api/admin/webhook";

function get(path: string, data?: string, more: Partial<RestRoute> = {}): RestRoute {
  return { verb: "GET", path, ...(data !== undefined && { data }), ...more };
}

function post(
  path: string,
  data?: string,
  body?: string,
  more: Partial<RestRoute> = {},
): RestRoute {
  const members = { ...(data !== undefined && { data }), ...(body !== undefined && { body }) };
  return { verb: "POST", path, ...members, ...more };
}

/** Every method of REST: path, the member in `data`, and the member that is the body. */
export const restRoutes: ReadonlyMap<DescMethod, RestRoute> = new Map<DescMethod, RestRoute>([
  [mount.listMounts, get(`${MOUNT}/list`, "*")],
  [mount.getMount, get(`${MOUNT}/get`, "mount")],
  [mount.saveMounts, post(`${MOUNT}/save`, "*", "*")],
  [mount.replaceCredential, post(`${MOUNT}/replace`, "*", "*")],
  [mount.copyMount, post(`${MOUNT}/copy`, "mount", "*")],
  [mount.renameMount, post(`${MOUNT}/rename`, "mount", "*")],
  [mount.deleteMounts, post(`${MOUNT}/delete`, "*", "*")],
  [mount.compareMounts, post(`${MOUNT}/compare`, "results", "*")],
  [mount.syncMounts, post(`${MOUNT}/sync`, "*", "*")],
  [mount.testMounts, post(`${MOUNT}/test`, "tests", "*")],
  [mount.adoptMounts, post(`${MOUNT}/adopt`, "*", "*")],
  [mount.exportMounts, post(`${MOUNT}/export`, "document", "*")],
  [mount.watchMounts, get(`${MOUNT}/watch`, "*")],
  [rule.listRules, get(`${RULE}/list`, "*")],
  [rule.getRule, get(`${RULE}/get`, "rule")],
  [rule.saveRules, post(`${RULE}/save`, "*", "*")],
  [rule.moveRule, post(`${RULE}/move`, "*", "*")],
  [rule.deleteRules, post(`${RULE}/delete`, "*", "*")],
  [rule.compareRules, post(`${RULE}/compare`, "results", "*")],
  [rule.syncRules, post(`${RULE}/sync`, "*", "*")],
  [rule.adoptRules, post(`${RULE}/adopt`, "*", "*")],
  [rule.watchRules, get(`${RULE}/watch`, "*")],
  [incident.listIncidents, get(`${INCIDENT}/list`, "*")],
  [incident.getIncident, get(`${INCIDENT}/get`, "incident")],
  [incident.listDays, get(`${INCIDENT}/days`, "*")],
  [incident.acknowledgeIncident, post(`${INCIDENT}/acknowledge`, "incident", "*")],
  [incident.watchIncidents, get(`${INCIDENT}/watch`, "*")],
  [webhook.listWebhooks, get(`${WEBHOOK}/list`, "webhooks")],
  [webhook.createWebhook, post(`${WEBHOOK}/create`, "*", "webhook")],
  [webhook.updateWebhook, post(`${WEBHOOK}/update`, "webhook", "webhook")],
  [webhook.deleteWebhook, post(`${WEBHOOK}/delete`)],
  [webhook.testWebhook, post(`${WEBHOOK}/test`, "delivery")],
  [webhook.listWebhookDeliveries, get(`${WEBHOOK}/deliveries`, "*")],
  [webhook.resendWebhookDelivery, post(`${WEBHOOK}/resend`, "delivery")],
  [open.ping, get("/ping", "message", { text: true })],
  [open.getPublicSettings, get("/api/public/settings", "settings")],
  [open.watchPublicSettings, get("/api/public/settings/watch", "*")],
  [driver.listDrivers, get(`${DRIVER}/list`, "drivers")],
  [driver.listDriverNames, get(`${DRIVER}/names`, "names")],
  [driver.getDriver, get(`${DRIVER}/info`, "info")],
  [driver.getDriverSchema, get(`${DRIVER}/schema`, "schema")],
  [driver.watchDrivers, get(`${DRIVER}/watch`, "*")],
  [driver.validateDriverConfig, post(`${DRIVER}/validate`, "*", "*")],
  [setting.listSettings, get(`${SETTING}/list`, "settings", { lists: ["groups"] })],
  [
    setting.listDefaultSettings,
    post(`${SETTING}/default`, "settings", undefined, { lists: ["groups"] }),
  ],
  [setting.getSetting, get(`${SETTING}/get`, "setting")],
  [setting.batchGetSettings, get(`${SETTING}/get`, "settings", { lists: ["keys"] })],
  [setting.saveSettings, post(`${SETTING}/save`, "preview", "settings")],
  [setting.deleteSetting, post(`${SETTING}/delete`)],
  [setting.resetToken, post(`${SETTING}/reset_token`, "token")],
  [setting.setAria2, post(`${SETTING}/set_aria2`, "version", "*")],
  [setting.setQbittorrent, post(`${SETTING}/set_qbit`, "status", "*")],
  [setting.watchSettings, get(`${SETTING}/watch`, "*")],
  [setting.listRevisions, get(`${SETTING}/revisions`, "*")],
  [setting.getRevision, get(`${SETTING}/revision`, "*")],
  [setting.diffRevisions, get(`${SETTING}/diff`, "changes")],
  [setting.rollback, post(`${SETTING}/rollback`, "*", "*")],
  [backup.exportArchive, post(`${BACKUP}/export`, "document", "*")],
  [audit.listAuditEvents, get(`${AUDIT}/events`, "*")],
  [audit.watchAudit, get(`${AUDIT}/watch`, "*")],
  [audit.getCheckpoint, get(`${AUDIT}/checkpoint`, "*")],
  [backup.importArchive, post(`${BACKUP}/import`, "*", "*")],
  [backup.createBackup, post(`${BACKUP}/create`, "*", "*")],
  [backup.listBackups, get(`${BACKUP}/list`, "*")],
  [backup.checkBackup, post(`${BACKUP}/check`, "*", "*")],
  [backup.restoreBackup, post(`${BACKUP}/restore`, "*", "*")],
  [backup.pruneBackups, post(`${BACKUP}/prune`, "*", "*")],
  [access.listPrincipals, get(`${ACCESS}/principals/list`, "*")],
  [access.createPrincipal, post(`${ACCESS}/principals/create`, "principal", "*")],
  [access.disablePrincipal, post(`${ACCESS}/principals/disable`, "principal", "*")],
  [access.listTokens, get(`${ACCESS}/tokens/list`, "*")],
  [access.createToken, post(`${ACCESS}/tokens/create`, "*", "*")],
  [access.rotateToken, post(`${ACCESS}/tokens/rotate`, "*", "*")],
  [access.revokeToken, post(`${ACCESS}/tokens/revoke`, "token", "*")],
  [access.whoAmI, get(`${ACCESS}/whoami`, "*")],
  [site.listSites, get(`${SITE}/list`, "sites")],
  [site.getSite, get(`${SITE}/get`, "site")],
  [site.createSite, post(`${SITE}/create`, "site", "site")],
  [site.updateSite, post(`${SITE}/update`, "site", "site")],
  [site.deleteSite, post(`${SITE}/delete`)],
  [site.checkSite, post(`${SITE}/check`, "site")],
  [site.compareSite, post(`${SITE}/compare`, "differences")],
  [site.adoptSite, post(`${SITE}/adopt`, "*", "*")],
  [site.syncSite, post(`${SITE}/sync`, "*", "*")],
  [site.listSiteLog, get(`${SITE}/log`, "*")],
  [site.watchSites, get(`${SITE}/watch`, "*")],
  [user.listUsers, get(`${SITE}/user/list`, "users")],
  [user.compareUsers, get(`${SITE}/user/compare`, "differences")],
  [user.copyUsers, post(`${SITE}/user/copy`, "*", "*")],
  [status.getStatus, get("/api/admin/status", "*")],
]);
