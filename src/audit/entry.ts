import type { HandlerContext } from "@connectrpc/connect";
import { Call, type CallInfo, callKey, headerOf } from "../gateway/call.ts";
import { REASON_BINARY_HEADER, REASON_HEADER, readBinaryReason, readReason } from "./reason.ts";
import type { AuditEntry } from "./store.ts";

/** Name of a token's owner in history, streams and log: `PRINCIPAL/TOKEN-ID`. */
export function actorOf(principal: string, tokenId: string): string {
  return `${principal}/${tokenId}`;
}

/** Matches names of tokens only: names of principals and of other actors do not have this form. */
const FORM = /^([a-z0-9][a-z0-9._-]*)\/([0-9A-Za-z]{12})$/;

/** Token id in an actor's name; empty for other actors, such as `admin`. */
export function tokenIdOf(actor: string): string {
  return FORM.exec(actor)?.[2] ?? "";
}

/** The caller of an operation, and its call. */
export interface AuditOrigin {
  /** Name of the token, or of a component of the service. */
  readonly actor: string;
  readonly transport: string;
  /** The rpc, such as `SaveSettings`. */
  readonly method: string;
  readonly requestId: string;
  readonly peer: string;
}

/** Code of a completed call. */
const OK = "OK";

/**
 * Entry of a completed action.
 *
 * @param time milliseconds since 1970 UTC.
 * @param subjects names of the objects of the action.
 * @param detail never a secret value.
 */
export function doneEntry(
  origin: AuditOrigin,
  time: number,
  subjects: readonly string[],
  detail: AuditEntry["detail"],
): AuditEntry {
  const { actor, transport, method, peer, requestId } = origin;
  const tokenId = tokenIdOf(actor);
  return {
    time,
    actor,
    tokenId,
    transport,
    method,
    peer,
    requestId,
    outcome: OK,
    subjects,
    detail,
  };
}

/** Caller and call, for the audit. Cheap: every read of a secret uses it. */
export function auditOriginOf(context: HandlerContext): AuditOrigin {
  const info = context instanceof Call ? context : (context.values.get(callKey) ?? NO_CALL);
  const { actor = "", transport, requestId, peer } = info;
  return { actor, transport, method: context.method.name, requestId, peer };
}

const NO_CALL: CallInfo = { transport: "cli", requestId: "", peer: "" };

/** Revision of a message as a number: revisions stay far below 2^53. */
export function optionalNumber(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

/**
 * Caller, call and reason of a change.
 *
 * @param reason of the request; without one, the header (or metadata) `x-change-reason`, or
 *   `x-change-reason-bin`.
 * @throws INVALID_ARGUMENT for a header that is not text.
 */
export function originOf(
  context: HandlerContext,
  reason = "",
): AuditOrigin & { readonly reason: string } {
  return { ...auditOriginOf(context), reason: reason || reasonOf(context) };
}

function reasonOf(context: HandlerContext): string {
  const text = headerOf(context, REASON_HEADER);
  if (text) return readReason(text);
  const binary = headerOf(context, REASON_BINARY_HEADER);
  return binary === undefined ? "" : readBinaryReason(binary);
}
