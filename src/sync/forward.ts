import { waitAtMost } from "../pause.ts";
import { SiteFailure } from "./failure.ts";

/** Maximum wait of a user's change for other work on its site, in milliseconds. */
const MAX_WAIT = 5_000;

export interface ForwardOptions<J> {
  /** Sends the change. */
  readonly send: () => Promise<void>;
  /** Runs before it, unless the change was sent after the maximum wait. Default: nothing. */
  readonly before?: (job: J) => Promise<void>;
  /** Adopts the result, before other work on the site, which would revert it. */
  readonly adopt: (job: J) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/**
 * Forwards a change that a user makes on a server's own pages, after earlier work on the site or
 * after 5 s, and adopts its result. A site that can't be read does not prevent the change: the next
 * work on it reads the result.
 *
 * @throws what `send` throws.
 */
export async function forwardChange<J>(
  exclusive: (siteId: string, work: (job: J) => Promise<void>) => Promise<void>,
  siteId: string,
  { send, before, adopt, onError }: ForwardOptions<J>,
): Promise<void> {
  let sent: Promise<void> | undefined;
  const adopted = exclusive(siteId, async (job) => {
    if (sent === undefined) await before?.(job);
    // Already sent after the maximum wait: only its result is adopted.
    sent ??= send();
    await sent;
    await adopt(job);
  }).catch((error: unknown) => {
    if (!(error instanceof SiteFailure)) onError(error);
  });
  await waitAtMost(MAX_WAIT, adopted);
  sent ??= send();
  await sent;
  await waitAtMost(MAX_WAIT, adopted);
}
