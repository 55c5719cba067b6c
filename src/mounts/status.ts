import { message, type Text } from "../messages/message.ts";
import type { Site } from "../sites/site.ts";
import { type Mount, missingOn } from "./mount.ts";
import type { MountRegistry } from "./site/registry.ts";

/** Status of a mount on a site. */
export interface Status {
  readonly site: string;
  readonly state: "ok" | "waiting" | "differs" | "failing" | "stuck";
  readonly applied: number;
  readonly differs: readonly string[];
  readonly status: string;
  readonly error: Text;
}

/** Status of a mount on a site, from the records of the process that follows mounts. */
export function statusOf(
  mount: Mount,
  site: Site,
  registry: Pick<MountRegistry, "site" | "mounts">,
): Status {
  const state = registry.mounts(site.id).get(mount.name);
  const whole = registry.site(site.id);
  const { applied = 0, differs = [], status = "", error = "", failures = 0 } = state ?? {};
  const base = { site: site.name, applied, differs, status, error: error || whole.error };
  const missing = missingOn(mount, site.name);
  if (missing.length > 0)
    return {
      ...base,
      state: "stuck",
      error: message("MOUNT_INCOMPLETE", { items: missing.join(", ") }),
    };
  if (error !== "") return { ...base, state: failures > 0 ? "failing" : "stuck" };
  if (whole.error !== "") return { ...base, state: "failing" };
  if (applied === mount.revision && differs.length === 0 && state?.phase === "")
    return { ...base, state: "ok" };
  const isPushing = site.mode === "follow" && !site.paused && whole.met;
  return { ...base, state: isPushing ? "waiting" : "differs" };
}
