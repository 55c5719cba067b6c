import type { StreamOptions } from "../../client/follow.ts";
import { auditService } from "../api/audit.ts";
import { followCalls } from "../api/follow.ts";
import { may } from "../api/rights.ts";
import { allPrincipals, allTokens } from "../api/token.ts";

/** Polling interval for data without events, such as uses of tokens, in milliseconds. */
const NOW_AND_THEN = 30_000;
/** Methods that create, change or end principals and tokens. */
const ACTIONS = [
  "CreatePrincipal",
  "DisablePrincipal",
  "CreateToken",
  "RotateToken",
  "RevokeToken",
];

/** All principals with their tokens. */
export type Known = Awaited<ReturnType<typeof readKnown>>;

export async function readKnown(signal: AbortSignal) {
  const [principals, tokens] = await Promise.all([allPrincipals(signal), allTokens({}, signal)]);
  return { principals, tokens };
}

/**
 * Reports possible changes of principals or tokens: at once from the audit, if the token may read
 * it, else when the page becomes visible and periodically.
 */
export async function followKnown(onChange: () => void, signal: AbortSignal): Promise<void> {
  const timer = setInterval(onChange, NOW_AND_THEN);
  addEventListener("focus", onChange, { signal });
  signal.addEventListener("abort", () => clearInterval(timer));
  if (may("audit:read"))
    for await (const _ of followCalls({ open: readActions, signal })) onChange();
  // Waits until the page is closed.
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

/** Yields when the stream is open, because of earlier actions, and after each action. */
async function* readActions(_: undefined, options: StreamOptions): AsyncGenerator<undefined> {
  let isFirst = true;
  for await (const { events } of auditService.watchAudit({ methods: ACTIONS }, options)) {
    if (isFirst || events.length > 0) yield;
    isFirst = false;
  }
}
