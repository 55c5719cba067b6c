import { doneEntry } from "../../audit/entry.ts";
import type { AuditEntry } from "../../audit/store.ts";
import { notFound } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { MAX_SUBJECTS } from "../../records/limit.ts";
import { requestedKeys } from "../../records/requested-keys.ts";
import { onSite } from "../../sites/on-site.ts";
import type { Site } from "../../sites/site.ts";
import { pathOn } from "../../sites/site-choice.ts";
import type { MountChanges } from "../changes.ts";
import type { Mount } from "../mount.ts";
import type { MountService } from "../mount-service.ts";
import type { MountView } from "../mount-view.ts";
import { isFailing } from "../site/plan.ts";
import type { MountRegistry } from "../site/registry.ts";
import type { MountSync } from "../site/sync.ts";
import { planOfSync } from "../site/sync-plan.ts";
import type { Status } from "../status.ts";
import type { ListTargets } from "./test.ts";

export interface SyncDeps {
  readonly view: Pick<MountView, "all" | "wantedOf">;
  readonly registry: Pick<MountRegistry, "records" | "listings">;
  readonly sync: Pick<MountSync, "read" | "push">;
  readonly statusOn: (mount: Mount, site: Site) => Status;
  readonly list: ListTargets;
  readonly audit: (entry: AuditEntry) => Promise<void>;
  readonly stopping: AbortSignal;
}

export function compareMounts(
  changes: MountChanges,
  { view, registry, sync }: Pick<SyncDeps, "view" | "sync" | "registry">,
): MountService["compare"] {
  return async (name, signal) => {
    const site = await changes.siteNamed(name);
    const round = await onSite(sync.read(site.id), signal);
    return planOfSync(round, site, view.wantedOf(site), registry.records(site.id));
  };
}

export function syncMounts(changes: MountChanges, deps: SyncDeps): MountService["sync"] {
  const { view, registry, sync } = deps;
  return async (name, names, origin, signal) => {
    const site = await changes.siteNamed(name);
    const asked = requestedKeys(names, {
      ofSite: view.wantedOf(site).map((mount) => mount.name),
      all: view.all(),
      unknown: changes.unknown,
      elsewhere: (each) =>
        notFound(message("MOUNT_NOT_ON_SITE", { site: site.name, name: each.slice(0, 64) })),
    });
    const subjects = asked.slice(0, MAX_SUBJECTS).map((one) => `mount:${one}`);
    await deps.audit(doneEntry(origin, Date.now(), [name, ...subjects], {}));
    const { rows } = await onSite(sync.read(site.id), signal);
    const listings = registry.listings(site.id);
    const failing = new Set(
      rows.filter((row) => isFailing(row, listings)).map(({ mount_path: path }) => path),
    );
    await onSite(sync.push(site.id, asked, signal), signal);
    const mounts = asked.flatMap((one) => view.all().get(one) ?? []);
    // The status of a mount that was mounted again does not show whether the provider answers.
    const again = mounts.filter(
      (mount) =>
        failing.has(pathOn(mount, site.id)) &&
        registry.records(site.id).get(mount.name)?.status === "work",
    );
    const targets = again.map((mount) => ({ mount, site }));
    const ending = signal === undefined ? deps.stopping : AbortSignal.any([signal, deps.stopping]);
    if (targets.length > 0) await deps.list(targets, ending);
    return mounts.map((mount) => deps.statusOn(mount, site));
  };
}
