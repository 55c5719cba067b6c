import { createHash } from "node:crypto";
import { hasCome } from "../periodic.ts";
import type { SiteClient } from "../sync/client.ts";
import { SiteFailure } from "../sync/failure.ts";

/** Validity of a visitor's identity, in milliseconds. */
const KEPT = 3_000;
/** Maximum number of cached identities, and of pending requests. */
const MAX_KEPT = 10_000;
const MAX_ASKED = 256;

/**
 * Identity of a visitor at the upstream.
 * - `admin`: an admin of this name. `user`: another user.
 * - `refused`: unauthenticated, with the upstream's message in `words`.
 * - `silent`: the upstream does not answer.
 */
export type Visitor =
  | { readonly kind: "admin"; readonly name: string }
  | { readonly kind: "user" }
  | { readonly kind: "refused" | "silent"; readonly words: string };

/** Prefix of the name of an admin of the upstream in history and audit. */
export const VISITOR_ACTOR = "upstream:";

/** Reads identities from the upstream. */
export interface Sessions {
  /**
   * @param authorization token without a scheme; an empty one is refused without a request, because an
   *   upstream with an empty token would answer "admin".
   * @param clientId `client-id` of the visitor, if given.
   */
  identify(authorization: string, clientId: string | undefined): Visitor | Promise<Visitor>;
  /**
   * Drops cached identities: all of them after a sign-out or a change of rights, refused ones after
   * a sign-in. A login within a second of the previous one gets its token.
   */
  forget(whom?: "all" | "refused"): void;
}

interface Kept {
  readonly until: number;
  readonly visitor: Visitor;
}

/** @param client has as many connections as there may be concurrent requests. */
export function createSessions(client: SiteClient, now: () => number): Sessions {
  let kept = new Map<string, Kept>();
  let asked = new Map<string, Promise<Visitor>>();
  /** Number of pending requests, including those of dropped identities. */
  let waiting = 0;
  const ask = async (authorization: string, clientId: string | undefined): Promise<Visitor> => {
    try {
      const me = await client.call("GET", "/api/me", undefined, {
        headers: { authorization, ...(clientId === undefined ? {} : { "client-id": clientId }) },
        secrets: [authorization],
      });
      return readVisitor(me);
    } catch (error) {
      if (!(error instanceof SiteFailure)) throw error;
      const { kind, words, message } = error;
      if (kind === "unauthorized") return { kind: "refused", words: words || "login please" };
      return kind === "forbidden" ? { kind: "user" } : { kind: "silent", words: message };
    }
  };
  return {
    identify: (authorization, clientId) => {
      if (authorization === "") return { kind: "refused", words: "login please" };
      // Tokens are not retained after the call.
      const key = createHash("sha256")
        .update(`${clientId ?? ""}\n${authorization}`)
        .digest("base64");
      const known = kept.get(key);
      if (known !== undefined && !hasCome(known.until, { now: now(), longest: KEPT }))
        return known.visitor;
      const present = asked.get(key);
      if (present !== undefined) return present;
      if (waiting >= MAX_ASKED)
        return {
          kind: "silent",
          words: "too many identity checks at the same time: try again in a moment",
        };
      const questions = asked;
      waiting += 1;
      const answered = ask(authorization, clientId).finally(() => {
        waiting -= 1;
        questions.delete(key);
      });
      const question = answered.then((visitor) => {
        // An answer from before a sign-out does not apply to the time after it.
        if (questions !== asked || visitor.kind === "silent") return visitor;
        kept.delete(key);
        kept.set(key, { until: now() + KEPT, visitor });
        const [oldest] = kept.size > MAX_KEPT ? kept.keys() : [];
        if (oldest !== undefined) kept.delete(oldest);
        return visitor;
      });
      questions.set(key, question);
      return question;
    },
    forget: (whom = "all") => {
      kept =
        whom === "all"
          ? new Map()
          : new Map([...kept].filter(([, { visitor }]) => visitor.kind !== "refused"));
      asked = new Map();
    },
  };
}

/** Admins have role 2; newer AList sends a list of roles. */
function readVisitor(me: unknown): Visitor {
  const { role, username } = (me ?? {}) as { role?: unknown; username?: unknown };
  const isAdmin = Array.isArray(role) ? role.includes(2) : role === 2;
  if (!isAdmin) return { kind: "user" };
  const name = typeof username === "string" ? username.replace(/[^\x21-\x7e]/g, "?") : "";
  return { kind: "admin", name: name.slice(0, 64).toWellFormed() || "admin" };
}
