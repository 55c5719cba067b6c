import type { RevisionCommit } from "./store.ts";

/** Bytes kept without readers, for reconnecting clients. */
const KEPT_UNREAD = 256 * 1024;

/** Commit in memory; the same object for every reader. */
interface Entry {
  readonly commit: RevisionCommit;
  /** Bytes of all earlier commits. */
  readonly offset: number;
}

/** The newest commits in memory, without gaps. */
export class RecentCommits {
  readonly #maxLag: number;
  #entries: Entry[] = [];
  #bytes = 0;
  #bytesBeforeNewest = 0;

  /** @param maxLag bytes that are kept for readers, at least. */
  constructor(maxLag: number) {
    this.#maxLag = maxLag;
  }

  /** Bytes of all commits that were added. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The same, except for the newest commit: one large commit does not drop a reader. */
  get bytesBeforeNewest(): number {
    return this.#bytesBeforeNewest;
  }

  /** Adds the next commit. */
  add(commit: RevisionCommit): void {
    this.#entries.push({ commit, offset: this.#bytes });
    this.#bytesBeforeNewest = this.#bytes;
    this.#bytes += sizeOf(commit);
  }

  clear(): void {
    this.#entries = [];
  }

  /** Commits after a revision; undefined: they are not all in memory. */
  after(revision: number): readonly RevisionCommit[] | undefined {
    const first = this.#entries[0]?.commit.revision;
    if (first === undefined || first > revision + 1) return undefined;
    return this.#entries.slice(revision + 1 - first).map(({ commit }) => commit);
  }

  /** Removes old commits. */
  trim(hasReaders: boolean): void {
    const most = hasReaders ? this.#maxLag * 1.5 : KEPT_UNREAD;
    if (this.#bytes - (this.#entries[0]?.offset ?? this.#bytes) <= most) return;
    // Removes more than necessary, because each trim copies the rest.
    const left = hasReaders ? this.#maxLag * 1.25 : KEPT_UNREAD / 2;
    const keep = this.#entries.findIndex(({ offset }) => this.#bytes - offset <= left);
    this.#entries = keep < 0 ? [] : this.#entries.slice(keep);
  }
}

/** Approximate size of a commit in memory and on the wire. */
function sizeOf({ changes }: RevisionCommit): number {
  const size = (text: string | null) => text?.length ?? 0;
  return changes.reduce(
    (sum, { key, oldBody, newBody, oldAttributes, newAttributes }) =>
      sum +
      100 +
      key.length +
      size(oldBody) +
      size(newBody) +
      size(oldAttributes) +
      size(newAttributes),
    200,
  );
}
