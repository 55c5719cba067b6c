import type { Caller } from "../access/admission.ts";
import type { Identity } from "../access/authenticate.ts";
import { ROOT } from "../access/grant.ts";
import type { AccessRegistry } from "../access/registry.ts";
import { isWellFormed, TOKEN_PREFIX } from "../access/token-text.ts";
import { oncePerTick } from "../database/shared-run.ts";
import type { Engine } from "../settings/engine.ts";
import { createTokenComparison, TOKEN_KEY } from "../settings/token.ts";
import { admitVisitor } from "../sites/front-interceptor.ts";
import type { Upstream } from "../sites/upstream.ts";

/** Actor of the permanent token, by its established name in the history. */
const ADMIN: Caller = { name: "admin", tokenId: "", grant: ROOT };

/**
 * Compares with the permanent token at the newest revision of any process on this database, and finds the
 * token among those of principals; any other one may be of an admin of the upstream. A mistyped token,
 * which its last letters tell, is looked up nowhere.
 */
export function identityBy(
  engine: Pick<Engine, "look" | "snapshot">,
  registry: Pick<AccessRegistry, "fresh" | "find">,
  upstream: Pick<Upstream, "identify"> | undefined,
): Identity {
  const equals = createTokenComparison();
  // Nothing forbids a permanent token that looks like one of a principal's.
  const admin = (sent: string): Caller | undefined =>
    equals(engine.snapshot().get(TOKEN_KEY)?.value ?? "", sent) ? ADMIN : undefined;
  return {
    // Both copies, in any order: settings with the permanent token, and principals with theirs.
    fresh: oncePerTick(() => {
      const readings = [engine.look(), registry.fresh()].filter((reading) => reading !== undefined);
      return readings.length === 0 ? undefined : Promise.all(readings);
    }),
    whose: (sent, call) => {
      if (isWellFormed(sent)) return registry.find(sent, () => call?.peer ?? "") ?? admin(sent);
      const caller = admin(sent);
      if (caller !== undefined) return caller;
      if (upstream === undefined || sent.startsWith(TOKEN_PREFIX)) return undefined;
      return admitVisitor(upstream.identify(sent, call?.header("client-id")));
    },
  };
}
