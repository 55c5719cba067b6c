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
 * Identifies tokens: tokens of principals by the registry, the permanent token at the newest revision of
 * any process, other tokens by the upstream. A token with a wrong checksum is not looked up.
 */
export function identityBy(
  engine: Pick<Engine, "look" | "snapshot">,
  registry: Pick<AccessRegistry, "fresh" | "find">,
  upstream: Pick<Upstream, "identify"> | undefined,
): Identity {
  const equals = createTokenComparison();
  // A permanent token may have the form of a principal's token.
  const admin = (sent: string): Caller | undefined =>
    equals(engine.snapshot().get(TOKEN_KEY)?.value ?? "", sent) ? ADMIN : undefined;
  return {
    // Refreshes both replicas: settings with the permanent token, and principals with their tokens.
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
