/** Guarantees of a watch, as functions that list the violations in a recorded history. */

/** Key to value after it; null: deleted. */
export type Values = Readonly<Record<string, string | null>>;

/** One event of a stream, as a client records it. */
export interface Recorded {
  readonly kind: "snapshot" | "change" | "bookmark";
  readonly revision: number;
  /** Of a snapshot: all settings. Of a change: the changed ones. */
  readonly values: Values;
}

/** The commits of all writers. */
export interface Truth {
  readonly revision: number;
  readonly values: Values;
}

/** Violations in a history; empty when it keeps the guarantee. */
export type Guarantee = (history: readonly Recorded[], truth: readonly Truth[]) => string[];

/** Revisions only grow; a bookmark may repeat the previous one. */
export const ordered: Guarantee = (history) =>
  history.flatMap(({ kind, revision }, at) => {
    const before = history[at - 1]?.revision ?? -1;
    const grows = kind === "bookmark" ? revision >= before : revision > before;
    return grows ? [] : [`${kind} ${revision} came after ${before}`];
  });

/** No revision comes twice. */
export const unique: Guarantee = (history) => {
  const revisions = history.filter(({ kind }) => kind === "change").map((one) => one.revision);
  return revisions
    .filter((revision, at) => revisions.indexOf(revision) !== at)
    .map((revision) => `${revision} came twice`);
};

/** No revision between the first and the last one is missing. */
export const reliable: Guarantee = (history, truth) => {
  const [first] = history;
  const last = history.at(-1);
  if (first === undefined || last === undefined) return [];
  const start = first.kind === "change" ? first.revision - 1 : first.revision;
  const seen = new Set(history.filter(({ kind }) => kind === "change").map((one) => one.revision));
  return truth
    .filter(({ revision }) => revision > start && revision <= last.revision && !seen.has(revision))
    .map(({ revision }) => `${revision} is missing`);
};

/** All changes of a revision are in one event, and no others. */
export const atomic: Guarantee = (history, truth) => {
  const committed = new Map(truth.map(({ revision, values }) => [revision, values]));
  return history
    .filter(({ kind }) => kind === "change")
    .filter(({ revision, values }) => textOf(values) !== textOf(committed.get(revision)))
    .map(({ revision }) => `${revision} is not what was committed`);
};

/** After a bookmark, or any other event, no event up to its revision follows. */
export const bookmarked: Guarantee = (history, truth) =>
  history.flatMap(({ kind, revision }, at) => {
    if (kind !== "bookmark") return [];
    const missing = reliable(history.slice(0, at + 1), truth);
    const late = history.slice(at + 1).filter((one) => one.revision < revision);
    return [...missing, ...late.map((one) => `${one.revision} came after bookmark ${revision}`)];
  });

/** A snapshot and the events after it give the commits up to there. */
export const consistent: Guarantee = (history, truth) => {
  const state = new Map<string, string>();
  const problems: string[] = [];
  for (const { kind, revision, values } of history) {
    if (kind === "snapshot") state.clear();
    apply(state, values);
    if (kind === "snapshot" && textOf(custom(state)) !== textOf(custom(replay(truth, revision))))
      problems.push(`the snapshot ${revision} is not what was committed`);
  }
  const last = history.at(-1)?.revision ?? 0;
  if (
    history[0]?.kind === "snapshot" &&
    textOf(custom(state)) !== textOf(custom(replay(truth, last)))
  )
    problems.push(`what the events come to at ${last} is not what was committed`);
  return problems;
};

export const guarantees = { ordered, unique, reliable, atomic, bookmarked, consistent };

/** All violations in a history, by guarantee. */
export function broken(history: readonly Recorded[], truth: readonly Truth[]): string[] {
  return Object.entries(guarantees).flatMap(([name, check]) =>
    check(history, truth).map((problem) => `${name}: ${problem}`),
  );
}

function replay(truth: readonly Truth[], upTo: number): Map<string, string> {
  const state = new Map<string, string>();
  for (const { revision, values } of truth) if (revision <= upTo) apply(state, values);
  return state;
}

function apply(state: Map<string, string>, values: Values): void {
  for (const [key, value] of Object.entries(values))
    if (value === null) state.delete(key);
    else state.set(key, value);
}

/** The writers of these tests use keys that begin with k: other settings have defaults. */
function custom(state: ReadonlyMap<string, string>): Values {
  return Object.fromEntries([...state].filter(([key]) => /^k\d/.test(key)));
}

function textOf(values: Values | undefined): string {
  return JSON.stringify(Object.entries(values ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
}
