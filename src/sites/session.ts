import { createHash } from "node:crypto";
import type { SiteClient } from "./client.ts";
import { SiteFailure } from "./failure.ts";

/** How long what the upstream has said of somebody counts, in milliseconds. */
const KEPT = 3_000;
/** Answers that are kept, and questions that wait, at most. */
const MAX_KEPT = 10_000;
const MAX_ASKED = 256;

/**
 * Who somebody is at the upstream.
 * - `admin`: by this name. `user`: somebody else.
 * - `refused`: nobody; `words` are the upstream's.
 * - `silent`: it can't be asked.
 */
export type Visitor =
  | { readonly kind: "admin"; readonly name: string }
  | { readonly kind: "user" }
  | { readonly kind: "refused" | "silent"; readonly words: string };

/** Prefix of the name of an admin of the upstream in history and audit. */
export const VISITOR_ACTOR = "upstream:";

/** Asks the upstream who somebody is. */
export interface Sessions {
  /**
   * @param authorization the token alone, as the upstream takes it; an empty one is refused without a
   *   question, because an upstream whose own token is empty would say "admin".
   * @param clientId the visitor's own, where there is one.
   */
  who(authorization: string, clientId: string | undefined): Visitor | Promise<Visitor>;
  /**
   * Forgets what was said: of everybody when somebody has left or has other rights now, of those who
   * were refused when somebody has come. A login within the second of the one before gets its token.
   */
  forget(whom?: "everybody" | "refused"): void;
}

interface Kept {
  readonly until: number;
  readonly visitor: Visitor;
}

/** @param client with as many connections as there may be questions at one time. */
export function createSessions(client: SiteClient, now: () => number): Sessions {
  let kept = new Map<string, Kept>();
  let asked = new Map<string, Promise<Visitor>>();
  /** Also of those that were forgotten. */
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
    who: (authorization, clientId) => {
      if (authorization === "") return { kind: "refused", words: "login please" };
      // Nobody's token stands in memory longer than its call.
      const key = createHash("sha256")
        .update(`${clientId ?? ""}\n${authorization}`)
        .digest("base64");
      const known = kept.get(key);
      if (known !== undefined && known.until > now()) return known.visitor;
      const present = asked.get(key);
      if (present !== undefined) return present;
      if (waiting >= MAX_ASKED)
        return {
          kind: "silent",
          words: "too many ask at once who they are: try again in a moment",
        };
      const questions = asked;
      waiting += 1;
      const answered = ask(authorization, clientId).finally(() => {
        waiting -= 1;
        questions.delete(key);
      });
      const question = answered.then((visitor) => {
        // What was asked before somebody left says nothing of the time after.
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
    forget: (whom = "everybody") => {
      kept =
        whom === "everybody"
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
  return { kind: "admin", name: name.slice(0, 64) || "admin" };
}
