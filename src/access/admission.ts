import type { HandlerContext } from "@connectrpc/connect";
import { Call, callKey } from "../gateway/call.ts";
import { type Grant, NOTHING, ROOT } from "./grant.ts";

/** The owner of a token. */
export interface Caller {
  /** Name in the history. */
  readonly name: string;
  /** Id of the token; empty for the permanent token. */
  readonly tokenId: string;
  readonly grant: Grant;
  /** Expiry, in milliseconds since 1970 UTC; undefined: it does not expire. */
  readonly until?: number | undefined;
}

/** The right by which a call was admitted. The gateway carries it as the call's opaque `principal`. */
export class Admission {
  readonly grant: Grant;
  /** Id of the token; empty for the permanent token. */
  readonly tokenId: string;
  /** The token as sent, kept while the call runs: the end of the token ends the call's stream. */
  readonly token: string;
  /** Time of the admission, from `performance.now()`. */
  readonly at: number;
  /** Expiry, in milliseconds since 1970 UTC; undefined: it does not expire. */
  until: number | undefined;

  constructor(caller: Caller, token: string, at: number) {
    this.grant = caller.grant;
    this.tokenId = caller.tokenId;
    this.until = caller.until;
    this.token = token;
    this.at = at;
  }
}

/** The admission of a call; undefined for a public method or before the admission. */
export function admissionOf(
  call: { readonly principal?: unknown } | undefined,
): Admission | undefined {
  const principal = call?.principal;
  return principal instanceof Admission ? principal : undefined;
}

/** Grant of the caller: none before admission; root for a command on the database itself. */
export function grantOf(context: Pick<HandlerContext, "values">): Grant {
  if (context instanceof Call) return admissionOf(context)?.grant ?? NOTHING;
  const info = context.values.get(callKey);
  return info === undefined || info.transport === "cli"
    ? ROOT
    : (admissionOf(info)?.grant ?? NOTHING);
}
