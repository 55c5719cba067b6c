import { allPrincipals, allTokens } from "../api/access-list.ts";
import { auditService } from "../api/audit.ts";
import { failureOf } from "../api/failure.ts";
import { may } from "../api/rights.ts";
import { pause } from "../api/wait.ts";

/** Between two looks for what the service does not tell of: who has used a token. In milliseconds. */
const NOW_AND_THEN = 30_000;
/** Between two tries to reach the service, in milliseconds. */
const RETRY = 2_000;
/** What makes, changes or ends principals and tokens. */
const DEEDS = ["CreatePrincipal", "DisablePrincipal", "CreateToken", "RotateToken", "RevokeToken"];

/** Everybody who may call, and with what. */
export type Known = Awaited<ReturnType<typeof readKnown>>;

export async function readKnown(signal: AbortSignal) {
  const [principals, tokens] = await Promise.all([allPrincipals(signal), allTokens({}, signal)]);
  return { principals, tokens };
}

/**
 * Tells when principals or tokens may be others than before: at once by the audit, where the token may
 * read it, and else when somebody comes back to the page, and now and then.
 */
export async function followKnown(tell: () => void, signal: AbortSignal): Promise<void> {
  const timer = setInterval(tell, NOW_AND_THEN);
  addEventListener("focus", tell, { signal });
  signal.addEventListener("abort", () => clearInterval(timer));
  while (!signal.aborted && may("audit:read")) {
    try {
      const deeds = auditService.watchAudit({ methods: DEEDS }, { signal });
      let isFirst = true;
      for await (const { events } of deeds) {
        // What happened before it was open is told of as one.
        if (isFirst || events.length > 0) tell();
        isFirst = false;
      }
    } catch (thrown) {
      // That nobody answers stands on the page already.
      if (failureOf(thrown).kind === "denied") break;
    }
    await pause(RETRY, signal);
  }
  // Until nobody looks any more.
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
}
