import type { Caller } from "../access/admission.ts";
import type { Identity } from "../access/authenticate.ts";
import type { Book } from "../access/book.ts";
import { ROOT } from "../access/grant.ts";
import { isWellFormed, TOKEN_PREFIX } from "../access/token-text.ts";
import type { Engine } from "../settings/engine.ts";
import { TOKEN_KEY, tokenEquals } from "../settings/token.ts";
import { admitVisitor } from "../sites/front-interceptor.ts";
import type { Upstream } from "../sites/upstream.ts";

/** Whom the permanent token lets in. The history has always called them so. */
const ADMIN: Caller = { name: "admin", tokenId: "", grant: ROOT };

/**
 * Compares with the permanent token at the newest revision of any process on this database, and looks
 * for it among those of principals; who has another one may be an admin of the upstream. A token that
 * was mistyped, which its last letters tell, is looked for nowhere.
 */
export function identityBy(
  engine: Pick<Engine, "fresh" | "snapshot">,
  book: Pick<Book, "fresh" | "find">,
  upstream: Pick<Upstream, "who"> | undefined,
): Identity {
  // Nothing forbids a permanent token that looks like one of a principal's.
  const admin = (sent: string): Caller | undefined =>
    tokenEquals(engine.snapshot().get(TOKEN_KEY)?.value ?? "", sent) ? ADMIN : undefined;
  const find = (...[sent, call]: Parameters<Identity["whose"]>): Caller | undefined =>
    book.find(sent, () => call?.peer ?? "") ?? admin(sent);
  return {
    fresh: engine.fresh,
    whose: (sent, call) => {
      if (isWellFormed(sent)) {
        const reading = book.fresh();
        return reading === undefined ? find(sent, call) : reading.then(() => find(sent, call));
      }
      const caller = admin(sent);
      if (caller !== undefined) return caller;
      if (upstream === undefined || sent.startsWith(TOKEN_PREFIX)) return undefined;
      return admitVisitor(upstream.who(sent, call?.header("client-id")));
    },
  };
}
