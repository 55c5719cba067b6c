import { changedSecrets, isVoid } from "./commit.ts";
import type { StoredChange } from "./store.ts";

/** Secret part that was set by a caller without the right to read it, in a revision. */
export interface BlindPart {
  readonly part: string;
  readonly revision: number;
}

/**
 * Secret parts that a change shows: those that differ, and those set by a caller who may not read
 * them, so that the history does not confirm a guess. A change without a difference, or one whose secret
 * parts are hidden from the caller, shows all secret parts.
 *
 * @param blindOf reads the blind parts of an open part.
 */
export function shownSecrets(
  change: StoredChange,
  blindOf: (body: string) => readonly BlindPart[],
): readonly string[] {
  const all = [
    ...new Set([...Object.keys(change.oldHashes ?? {}), ...Object.keys(change.newHashes ?? {})]),
  ];
  if (isVoid(change) || change.isHidden === true) return all;
  const shown = new Set([...changedSecrets(change), ...givenBlindly(change, blindOf)]);
  return all.filter((part) => shown.has(part));
}

/** Blind parts that a change adds or removes. */
function givenBlindly(
  { oldBody, newBody }: StoredChange,
  blindOf: (body: string) => readonly BlindPart[],
): readonly string[] {
  const [before, after] = [oldBody, newBody].map(
    (body) =>
      new Map(
        (body === null ? [] : blindOf(body)).map(({ part, revision }) => [
          `${revision} ${part}`,
          part,
        ]),
      ),
  );
  if (before === undefined || after === undefined) return [];
  return [
    ...[...before].flatMap(([given, part]) => (after.has(given) ? [] : [part])),
    ...[...after].flatMap(([given, part]) => (before.has(given) ? [] : [part])),
  ];
}
