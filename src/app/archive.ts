import { randomBytes } from "node:crypto";
import { type Archive, createArchive } from "../archive/archive.ts";
import type { StorePart } from "../archive/part.ts";
import { type Cost, createPassphraseCipher, type DeriveKey } from "../archive/passphrase.ts";
import type { Config } from "../config/config.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { newId } from "../incidents/new-id.ts";
import { createWebhookPart } from "../incidents/webhook/archive/part.ts";
import type { WebhookRegistry } from "../incidents/webhook/registry.ts";
import type { Draft } from "../ledger/draft.ts";
import { createMountPart, type MountPartDeps } from "../mounts/archive/part.ts";
import { SITE_MOUNTS } from "../mounts/kind.ts";
import type { MountService } from "../mounts/mount-service.ts";
import { createRecordEtag } from "../records/etag.ts";
import { createRulePart, type RulePartDeps } from "../rules/archive/part.ts";
import { SITE_RULES } from "../rules/kind.ts";
import type { RuleService } from "../rules/rule-service.ts";
import { createServerPart, type ServerPartDeps } from "../servers/archive-part.ts";
import { createSettingPart } from "../settings/archive/part.ts";
import { SETTINGS } from "../settings/kind.ts";
import { rightsOf } from "../settings/rights.ts";
import { createSitePart, type SitePartDeps } from "../sites/archive/part.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { SettingServices } from "./settings.ts";

export interface ArchiveParts {
  readonly services: Pick<SettingServices, "ledger" | "settings" | "definitionOf" | "fingerprint">;
  readonly sites: Pick<SiteRegistry, "state"> & SitePartDeps["registry"];
  readonly effects: SitePartDeps["effects"];
  readonly mounts: Pick<MountPartDeps, "list" | "running" | "managedBy">;
  readonly rules: Pick<RulePartDeps, "list" | "onSites">;
  readonly webhooks: WebhookRegistry;
  readonly access: StorePart;
  /** File that declares a record of a part; undefined: clients may change it. */
  readonly declaredBy: (part: string, name: string) => string | undefined;
  /** Undefined: a command on the database itself calls no server. */
  readonly servers: ServerPartDeps["servers"];
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  readonly databaseId: () => string;
  /** Cost of scrypt of sealed archives; undefined: that of the program. */
  readonly passphraseCost?: Cost | undefined;
  /** Derivation of keys; undefined: in this process. */
  readonly deriveKey?: DeriveKey | undefined;
  /** The program's version, such as `v0.1.0`. */
  readonly version: string;
}

/** Archives of the whole site. A new kind adds its part here; parts that others refer to come first. */
export function openArchive(
  { maxValue: maxValueBytes, maxCustomSettings }: Pick<Config, "maxValue" | "maxCustomSettings">,
  deps: ArchiveParts,
): Archive {
  const { sites: registry, driverOf, driverNames, version, databaseId, passphraseCost } = deps;
  const { ledger, settings, definitionOf } = deps.services;
  const { snapshot } = ledger;
  const isSecret = (key: string): boolean => snapshot().get(SETTINGS, key)?.secret === true;
  const now = Date.now;
  const sites = createSitePart({
    registry,
    definitionOf,
    isSecret,
    maxValueBytes,
    now,
    newId: () => randomBytes(9).toString("base64url"),
    effects: deps.effects,
    managedBy: (name) => deps.declaredBy("sites", name),
  });
  const { managedBy } = settings;
  const siteNames = sites.names;
  return createArchive<Draft>({
    parts: [
      sites,
      // Before the mounts: no folder is open on a server before its own rules are back.
      createServerPart({
        siteNames,
        servers: deps.servers,
        sites: registry.sites,
        plannedBy: sites.plannedBy,
        hold: sites.hold,
        release: sites.release,
      }),
      createSettingPart({ ledger, managedBy, maxValueBytes, maxCustomSettings }),
      createMountPart({
        ...deps.mounts,
        driverOf,
        driverNames,
        etagOf: createRecordEtag(deps.services.fingerprint, SITE_MOUNTS.keyOf),
        siteNames,
        families: () =>
          registry.sites().map(({ id, name }) => ({ id, name, kind: registry.state(id).kind })),
      }),
      createRulePart({
        ...deps.rules,
        etagOf: createRecordEtag(deps.services.fingerprint, SITE_RULES.keyOf),
        managedBy: (path) => deps.declaredBy("rules", path),
        siteNames,
      }),
      createWebhookPart({
        registry: deps.webhooks,
        siteNames,
        managedBy: (name) => deps.declaredBy("webhooks", name),
        now,
        newId,
      }),
      deps.access,
    ],
    change: ({ grant, origin }, decide, options) =>
      ledger.change({ ...origin, rights: rightsOf(grant, snapshot) }, decide, options),
    revision: () => snapshot().revision,
    cipher: createPassphraseCipher(randomBytes, passphraseCost, deps.deriveKey),
    databaseId,
    version,
    now,
  });
}

/** Mounts of a service for exports and imports. */
export function mountsToExport(
  mounts: Pick<MountService, "list" | "get" | "nameOf" | "running" | "declaredBy">,
): ArchiveParts["mounts"] {
  return {
    list: async (grant, names) =>
      names.length === 0
        ? mounts.list(grant)
        : names.map((name) => mounts.get(mounts.nameOf(name, grant), grant)),
    running: mounts.running,
    managedBy: mounts.declaredBy,
  };
}

/** Folder rules of a service for exports and imports. */
export function rulesToExport(
  rules: Pick<RuleService, "list" | "get" | "pathOf">,
  onSites: ArchiveParts["rules"]["onSites"],
): ArchiveParts["rules"] {
  return {
    list: async (grant, paths) =>
      paths.length === 0
        ? rules.list(grant)
        : paths.map((path) => rules.get(rules.pathOf(path), grant)),
    onSites,
  };
}
