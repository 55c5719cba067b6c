import { pauseFor } from "../pause.ts";
import type { Feed } from "./feed.ts";
import type { RevisionCommit } from "./store.ts";

/** Pause before another attempt to read a feed, in milliseconds. */
const AGAIN = 100;

/**
 * Reads a feed from its head until the signal aborts, with retries after failures.
 *
 * @param onCommits receives each batch, and undefined after a gap: too many commits at once, or another
 *   database in place of this one.
 * @param onBegin receives the revision from which it reads, at the beginning and after each gap.
 */
export async function followFeed(
  feed: Pick<Feed, "head" | "read">,
  signal: AbortSignal,
  onCommits: (commits: readonly RevisionCommit[] | undefined) => void,
  onBegin: (revision: number) => void = () => undefined,
): Promise<void> {
  while (!signal.aborted) {
    try {
      onBegin(feed.head);
      for await (const commits of feed.read(feed.head, signal)) onCommits(commits);
      return;
    } catch {
      await pauseFor(AGAIN, signal);
      if (!signal.aborted) onCommits(undefined);
    }
  }
}
