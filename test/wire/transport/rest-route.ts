import type { DescMethod } from "@bufbuild/protobuf";
import { AccessService } from "../../../gen/mooring/v1/access_service_pb.js";
import { AuditService } from "../../../gen/mooring/v1/audit_service_pb.js";
import { DriverService } from "../../../gen/mooring/v1/driver_service_pb.js";
import { IncidentService } from "../../../gen/mooring/v1/incident_service_pb.js";
import { MountService } from "../../../gen/mooring/v1/mount_service_pb.js";
import { PublicService } from "../../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../../gen/mooring/v1/site_service_pb.js";
import { StatusService } from "../../../gen/mooring/v1/status_service_pb.js";
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
const { method: audit } = AuditService;
const { method: access } = AccessService;
const { method: site } = SiteService;
const { method: mount } = MountService;
const { method: incident } = IncidentService;
const { method: webhook } = WebhookService;
const { method: status } = StatusService;

const DRIVER = "/api/admin/driver";
const SETTING = "/api/admin/setting";
const AUDIT = "/api/admin/audit";
const ACCESS = "/api/admin/access";
const SITE = "/api/admin/site";
const MOUNT = "/api/admin/mount";
const INCIDENT = "/api/admin/incident";
const WEBHOOK = "/api/admin/webhook";

/** Every method of REST. */
export const restRoutes: ReadonlyMap<DescMethod, RestRoute> = new Map<DescMethod, RestRoute>([
  [mount.listMounts, { verb: "GET", path: `${MOUNT}/list`, data: "*" }],
  [mount.getMount, { verb: "GET", path: `${MOUNT}/get`, data: "mount" }],
  [mount.saveMounts, { verb: "POST", path: `${MOUNT}/save`, body: "*", data: "*" }],
  [mount.replaceCredential, { verb: "POST", path: `${MOUNT}/replace`, body: "*", data: "*" }],
  [mount.copyMount, { verb: "POST", path: `${MOUNT}/copy`, body: "*", data: "mount" }],
  [mount.renameMount, { verb: "POST", path: `${MOUNT}/rename`, body: "*", data: "mount" }],
  [mount.deleteMounts, { verb: "POST", path: `${MOUNT}/delete`, body: "*", data: "*" }],
  [mount.compareMounts, { verb: "POST", path: `${MOUNT}/compare`, body: "*", data: "results" }],
  [mount.syncMounts, { verb: "POST", path: `${MOUNT}/sync`, body: "*", data: "*" }],
  [mount.adoptMounts, { verb: "POST", path: `${MOUNT}/adopt`, body: "*", data: "*" }],
  [mount.rollbackMounts, { verb: "POST", path: `${MOUNT}/rollback`, body: "*", data: "*" }],
  [mount.importMounts, { verb: "POST", path: `${MOUNT}/import`, body: "*", data: "*" }],
  [mount.exportMounts, { verb: "POST", path: `${MOUNT}/export`, body: "*", data: "document" }],
  [mount.watchMounts, { verb: "GET", path: `${MOUNT}/watch`, data: "*" }],
  [incident.listIncidents, { verb: "GET", path: `${INCIDENT}/list`, data: "*" }],
  [incident.getIncident, { verb: "GET", path: `${INCIDENT}/get`, data: "incident" }],
  [
    incident.acknowledgeIncident,
    { verb: "POST", path: `${INCIDENT}/acknowledge`, body: "*", data: "incident" },
  ],
  [incident.watchIncidents, { verb: "GET", path: `${INCIDENT}/watch`, data: "*" }],
  [webhook.listWebhooks, { verb: "GET", path: `${WEBHOOK}/list`, data: "webhooks" }],
  [webhook.createWebhook, { verb: "POST", path: `${WEBHOOK}/create`, body: "webhook", data: "*" }],
  [
    webhook.updateWebhook,
    { verb: "POST", path: `${WEBHOOK}/update`, body: "webhook", data: "webhook" },
  ],
  [webhook.deleteWebhook, { verb: "POST", path: `${WEBHOOK}/delete` }],
  [webhook.testWebhook, { verb: "POST", path: `${WEBHOOK}/test`, data: "delivery" }],
  [webhook.listWebhookDeliveries, { verb: "GET", path: `${WEBHOOK}/deliveries`, data: "*" }],
  [webhook.resendWebhookDelivery, { verb: "POST", path: `${WEBHOOK}/resend`, data: "delivery" }],
  [open.ping, { verb: "GET", path: "/ping", data: "message", text: true }],
  [open.getPublicSettings, { verb: "GET", path: "/api/public/settings", data: "settings" }],
  [open.watchPublicSettings, { verb: "GET", path: "/api/public/settings/watch", data: "*" }],
  [driver.listDrivers, { verb: "GET", path: `${DRIVER}/list`, data: "drivers" }],
  [driver.listDriverNames, { verb: "GET", path: `${DRIVER}/names`, data: "names" }],
  [driver.getDriver, { verb: "GET", path: `${DRIVER}/info`, data: "info" }],
  [driver.getDriverSchema, { verb: "GET", path: `${DRIVER}/schema`, data: "schema" }],
  [driver.watchDrivers, { verb: "GET", path: `${DRIVER}/watch`, data: "*" }],
  [driver.validateDriverConfig, { verb: "POST", path: `${DRIVER}/validate`, body: "*", data: "*" }],
  [
    setting.listSettings,
    { verb: "GET", path: `${SETTING}/list`, data: "settings", lists: ["groups"] },
  ],
  [
    setting.listDefaultSettings,
    { verb: "POST", path: `${SETTING}/default`, data: "settings", lists: ["groups"] },
  ],
  [setting.getSetting, { verb: "GET", path: `${SETTING}/get`, data: "setting" }],
  [
    setting.batchGetSettings,
    { verb: "GET", path: `${SETTING}/get`, data: "settings", lists: ["keys"] },
  ],
  [
    setting.saveSettings,
    { verb: "POST", path: `${SETTING}/save`, body: "settings", data: "preview" },
  ],
  [setting.deleteSetting, { verb: "POST", path: `${SETTING}/delete` }],
  [setting.resetToken, { verb: "POST", path: `${SETTING}/reset_token`, data: "token" }],
  [setting.setAria2, { verb: "POST", path: `${SETTING}/set_aria2`, body: "*", data: "version" }],
  [
    setting.setQbittorrent,
    { verb: "POST", path: `${SETTING}/set_qbit`, body: "*", data: "status" },
  ],
  [setting.watchSettings, { verb: "GET", path: `${SETTING}/watch`, data: "*" }],
  [setting.listRevisions, { verb: "GET", path: `${SETTING}/revisions`, data: "*" }],
  [setting.getRevision, { verb: "GET", path: `${SETTING}/revision`, data: "*" }],
  [setting.diffRevisions, { verb: "GET", path: `${SETTING}/diff`, data: "changes" }],
  [setting.rollback, { verb: "POST", path: `${SETTING}/rollback`, body: "*", data: "*" }],
  [
    setting.exportSettings,
    { verb: "POST", path: `${SETTING}/export`, body: "*", data: "document" },
  ],
  [audit.listAuditEvents, { verb: "GET", path: `${AUDIT}/events`, data: "*" }],
  [audit.watchAudit, { verb: "GET", path: `${AUDIT}/watch`, data: "*" }],
  [audit.getCheckpoint, { verb: "GET", path: `${AUDIT}/checkpoint`, data: "*" }],
  [setting.importSettings, { verb: "POST", path: `${SETTING}/import`, body: "*", data: "*" }],
  [access.listPrincipals, { verb: "GET", path: `${ACCESS}/principals/list`, data: "*" }],
  [
    access.createPrincipal,
    { verb: "POST", path: `${ACCESS}/principals/create`, body: "*", data: "principal" },
  ],
  [
    access.disablePrincipal,
    { verb: "POST", path: `${ACCESS}/principals/disable`, body: "*", data: "principal" },
  ],
  [access.listTokens, { verb: "GET", path: `${ACCESS}/tokens/list`, data: "*" }],
  [access.createToken, { verb: "POST", path: `${ACCESS}/tokens/create`, body: "*", data: "*" }],
  [access.rotateToken, { verb: "POST", path: `${ACCESS}/tokens/rotate`, body: "*", data: "*" }],
  [access.revokeToken, { verb: "POST", path: `${ACCESS}/tokens/revoke`, body: "*", data: "token" }],
  [access.whoAmI, { verb: "GET", path: `${ACCESS}/whoami`, data: "*" }],
  [site.listSites, { verb: "GET", path: `${SITE}/list`, data: "sites" }],
  [site.getSite, { verb: "GET", path: `${SITE}/get`, data: "site" }],
  [site.createSite, { verb: "POST", path: `${SITE}/create`, body: "site", data: "site" }],
  [site.updateSite, { verb: "POST", path: `${SITE}/update`, body: "site", data: "site" }],
  [site.deleteSite, { verb: "POST", path: `${SITE}/delete` }],
  [site.checkSite, { verb: "POST", path: `${SITE}/check`, data: "site" }],
  [site.compareSite, { verb: "POST", path: `${SITE}/compare`, data: "differences" }],
  [site.adoptSite, { verb: "POST", path: `${SITE}/adopt`, body: "*", data: "*" }],
  [site.syncSite, { verb: "POST", path: `${SITE}/sync`, body: "*", data: "*" }],
  [site.listSiteLog, { verb: "GET", path: `${SITE}/log`, data: "*" }],
  [site.watchSites, { verb: "GET", path: `${SITE}/watch`, data: "*" }],
  [status.getStatus, { verb: "GET", path: "/api/admin/status", data: "*" }],
]);
