import { setTimeout as sleep } from "node:timers/promises";
import { unavailable } from "../error.ts";
import type { Engine } from "./engine.ts";

/** How long a revision is waited for, and how often it is looked for, in milliseconds. */
const PATIENCE = 1_000;
const LOOK = 20;

/**
 * Waits until this process shows a revision, or a later one.
 *
 * @throws UNAVAILABLE when it does not within a second.
 */
export async function reaches(
  engine: Pick<Engine, "snapshot" | "refresh">,
  revision: number,
): Promise<void> {
  if (engine.snapshot().revision >= revision) return;
  const giveUp = performance.now() + PATIENCE;
  while ((await engine.refresh()).revision < revision) {
    if (performance.now() > giveUp)
      throw unavailable(
        `this instance shows revision ${engine.snapshot().revision} and not yet ${revision}: try again in a moment, or elsewhere`,
      );
    await sleep(LOOK);
  }
}
