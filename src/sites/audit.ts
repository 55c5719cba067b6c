import { doneEntry } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import type { Site } from "./site.ts";
import type { SiteEvent } from "./store.ts";

/** Outcomes of writes to a site, by action. Other actions do not change the site. */
const OUTCOMES: Readonly<Record<string, string>> = {
  push: "OK",
  correct: "OK",
  refused: "FAILED_PRECONDITION",
  fight: "ABORTED",
};

/** Audit entries of writes to a site, with the site and the keys as subjects. */
export function entriesOf(site: string, events: readonly SiteEvent[]): AuditEntry[] {
  return events.flatMap(({ time, actor, action, revision, keys, result }) => {
    const outcome = OUTCOMES[action];
    if (outcome === undefined) return [];
    const origin = { actor, transport: "", method: action, peer: "", requestId: "" };
    const detail = { revision, keys: keys.length, result: String(result) };
    return [{ ...doneEntry(origin, time, [site, ...keys], detail), outcome }];
  });
}

/** Members of a site that differ, without their values, which may be secret. */
export function changedMembers(before: Site, after: Site): readonly string[] {
  const names = Object.keys(after) as (keyof Site)[];
  return names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}
