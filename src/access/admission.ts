import type { HandlerContext } from "@connectrpc/connect";
import { Call, callKey } from "../gateway/call.ts";
import { type Grant, NOTHING, ROOT } from "./grant.ts";

/** The owner of a token. */
export interface Caller {
  /** Name in the history. */
  readonly name: string;
  /** Id of the token; empty: it has none. */
  readonly tokenId: string;
  readonly grant: Grant;
  /** End of the right, in milliseconds since 1970 UTC; undefined: it has none. */
  readonly until?: number | undefined;
}

/** The right by which a call was admitted. The gateway carries it as the call's opaque `principal`. */
export class Admission {
  readonly grant: Grant;
  /** Id of the token; empty: it has none, as the permanent one. */
  readonly tokenId: string;
  /** The token as it was sent; kept while the call runs, because a stream ends with it. */
  readonly token: string;
  /** Time of the admission, of `performance.now()`. */
  readonly at: number;
  /** End of the right, in milliseconds since 1970 UTC; undefined: it has none. */
  until: number | undefined;

  constructor(caller: Caller, token: string, at: number) {
    this.grant = caller.grant;
    this.tokenId = caller.tokenId;
    this.until = caller.until;
    this.token = token;
    this.at = at;
  }
}

/** The admission of a call; undefined where the call needed none or has not been admitted. */
export function admissionOf(
  call: { readonly principal?: unknown } | undefined,
): Admission | undefined {
  const principal = call?.principal;
  return principal instanceof Admission ? principal : undefined;
}

/** The grant of the caller: none before admission; a command on the database itself is root. */
export function grantOf(context: Pick<HandlerContext, "values">): Grant {
  if (context instanceof Call) return admissionOf(context)?.grant ?? NOTHING;
  const info = context.values.get(callKey);
  return info === undefined || info.door === "cli" ? ROOT : (admissionOf(info)?.grant ?? NOTHING);
}
