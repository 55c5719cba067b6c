import { type RecordResult, resultAs } from "../../history/record-result.ts";
import { message } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import type { Site } from "../../sites/site.ts";
import type { MountRound } from "./round.ts";
import type { WantedMount } from "./row.ts";
import { type MountState, NEW_MOUNT } from "./state.ts";

/** Plan of a sync: steps to take, and mounts to leave unchanged. */
export function planOfSync(
  round: MountRound,
  site: Pick<Site, "name">,
  wanted: readonly WantedMount[],
  known: ReadonlyMap<string, MountState>,
): readonly RecordResult[] {
  const byId = new Map(round.rows.map((row) => [row.id, row]));
  const names = new Set(wanted.map(({ name }) => name));
  const mine = wanted.map((mount): RecordResult => {
    const state = ownValue(round.states, mount.name) ?? known.get(mount.name) ?? NEW_MOUNT;
    const isThere = byId.has(state.id) && !state.absent;
    const { differs, error } = state;
    if (mount.missing.length > 0) return resultAs(mount.name, "skipped", error);
    if (!isThere) return { name: mount.name, outcome: "created", note: error, differs: [] };
    if (differs.length === 0)
      return { name: mount.name, outcome: "unchanged", note: error, differs };
    const action = mount.disabled && differs.includes("disabled") ? "disable" : "remount";
    const effects = [{ action, site: site.name, kind: "mount", path: state.path } as const];
    return { name: mount.name, outcome: "changed", note: error, differs, effects };
  });
  const gone = Object.entries(round.states).flatMap(([name, state]): RecordResult[] => {
    if (names.has(name) || state === undefined || !byId.has(state.id)) return [];
    const effects = [
      { action: "remove", site: site.name, kind: "mount", path: state.path } as const,
    ];
    return [{ ...resultAs(name, "deleted", ""), effects }];
  });
  const extra = round.extra.map(({ path }) => resultAs(path, "skipped", message("ONLY_AT_SITE")));
  return [...mine, ...gone, ...extra];
}
