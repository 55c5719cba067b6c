import type { Book } from "../service/access/book.ts";
import { ROOT } from "../service/access/grant.ts";
import { isWellFormed, TOKEN_PREFIX } from "../service/access/token-text.ts";
import type { Engine } from "../service/setting/engine.ts";
import { TOKEN_KEY, tokenEquals } from "../service/setting/token.ts";
import type { Upstream } from "../service/site/upstream.ts";
import type { Caller, Identity } from "./access.ts";
import { admitVisitor } from "./upstream.ts";

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
