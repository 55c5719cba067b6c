import type { MountSpan } from "./mount-span.ts";
import type { DayChange } from "./store.ts";

/** Some of the pending changes, for one transaction. */
export interface PendingPart {
  readonly changes: readonly DayChange[];
  readonly spans: readonly MountSpan[];
}

/** Changes of mounts and their present spans that are not stored yet. */
export class PendingChanges {
  readonly #changes: DayChange[] = [];
  /** Spans by site and path. */
  readonly #spans = new Map<string, MountSpan>();

  get isEmpty(): boolean {
    return this.#changes.length === 0 && this.#spans.size === 0;
  }

  /** Adds a change behind those before. */
  add(change: DayChange): void {
    this.#changes.push(change);
  }

  put(span: MountSpan): void {
    this.#spans.set(keyOf(span), span);
  }

  delete(span: MountSpan): void {
    this.#spans.delete(keyOf(span));
  }

  deleteSite(siteId: string): void {
    for (const [key, span] of this.#spans) if (span.siteId === siteId) this.#spans.delete(key);
  }

  /** The oldest changes; spans follow them, because a span at a path that a mount has left would move. */
  first(most: number): PendingPart {
    const changes = this.#changes.slice(0, most);
    const isLast = changes.length === this.#changes.length;
    return { changes, spans: isLast ? this.#firstSpans(most) : [] };
  }

  #firstSpans(most: number): readonly MountSpan[] {
    const spans: MountSpan[] = [];
    for (const span of this.#spans.values()) {
      if (spans.length === most) break;
      spans.push(span);
    }
    return spans;
  }

  /** Removes a part that was stored. Spans that have changed meanwhile stay. */
  remove({ changes, spans }: PendingPart): void {
    this.#changes.splice(0, changes.length);
    for (const span of spans)
      if (this.#spans.get(keyOf(span)) === span) this.#spans.delete(keyOf(span));
  }
}

function keyOf({ siteId, path }: Pick<MountSpan, "siteId" | "path">): string {
  return `${siteId}\0${path}`;
}
