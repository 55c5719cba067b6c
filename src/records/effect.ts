import type { Effect } from "../history/effect.ts";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import { memoize } from "../memoize.ts";
import { PathIndex } from "../sites/path-index.ts";
import type { EffectsOnRecords } from "../sites/record-effect.ts";
import type { Site } from "../sites/site.ts";
import { mapInTicks } from "../ticks.ts";
import type { RecordIndex, SiteKind, SiteRecord } from "./kind.ts";

/** Change of one record. */
export interface RecordChange<R extends SiteRecord> {
  /** Undefined: it did not exist. */
  readonly before: R | undefined;
  /** Undefined: it was deleted. */
  readonly after: R | undefined;
  /** Names of what differs. Values are not compared: that would reveal secrets. */
  readonly differs: readonly string[];
  /** All records before the change and after it, with what else it changes. */
  readonly all: { readonly before: () => RecordIndex<R>; readonly after: () => RecordIndex<R> };
}

/** Decides a change on a draft. @param records all records of the draft; it may change them. */
export type Decide<R extends SiteRecord, T> = (
  draft: Draft,
  records: RecordIndex<R>,
) => readonly T[] | Promise<readonly T[]>;

/** Result of a change with its effects on servers. */
export type WithEffects<T> = T & { readonly effects: readonly Effect[] };

/** Adds the effects of a change on servers to its results. */
export function withEffects<R extends SiteRecord, T extends Pick<RecordResult, "name" | "differs">>(
  { token, ofDraft }: SiteKind<R>,
  effectsOf: (change: RecordChange<R>) => readonly Effect[],
  decide: Decide<R, T>,
): (draft: Draft) => Promise<readonly WithEffects<T>[]> {
  return async (draft) => {
    const records = ofDraft(draft);
    const before = new Map(records);
    const results = await decide(draft, records);
    // Indexes of many records take long: only when an effect needs them.
    const all = {
      before: memoize<void, RecordIndex<R>>(() => new PathIndex(before)),
      after: memoize<void, RecordIndex<R>>(() => ofDraft(draft)),
    };
    return mapInTicks(results, (result) => {
      const { name, differs } = result;
      const change = { before: before.get(name), after: draft.get(token, name), differs, all };
      return { ...result, effects: effectsOf(change) };
    });
  };
}

/** Reports whether the records of a site are written to its server. */
export function isRunning(
  { mode, paused }: { readonly mode: string; readonly paused: boolean },
  { contacted }: { readonly contacted: boolean },
): boolean {
  return mode === "follow" && !paused && contacted;
}

/** Records that change on the server of a site when it begins to follow, or is resumed. */
export function affectedByFollowing(
  states: { site(siteId: string): { readonly contacted: boolean } },
  effectsOf: (
    site: Site,
  ) => readonly { readonly name: string; readonly effects: readonly Effect[] }[],
): EffectsOnRecords["affected"] {
  return (before, after) => {
    const site = states.site(after.id);
    if (isRunning(before, site) || !isRunning(after, site)) return [];
    return effectsOf(after).map(({ name, effects }) => ({
      ...resultAs(name, "unchanged", ""),
      effects,
    }));
  };
}
