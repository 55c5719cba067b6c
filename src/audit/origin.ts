import type { HandlerContext } from "@connectrpc/connect";
import { Call, type CallInfo, callKey, headerOf } from "../gateway/call.ts";
import type { AuditOrigin } from "./entry.ts";
import type { Noted } from "./recorder.ts";

/** Caller and call, for the audit. Cheap: every read of a secret uses it. */
export function auditOriginOf(context: HandlerContext): AuditOrigin {
  const info = context instanceof Call ? context : (context.values.get(callKey) ?? NO_CALL);
  const { actor = "", transport, requestId, peer } = info;
  return { actor, transport, method: context.method.name, requestId, peer };
}

/** Audit entry of a dry run with values for secrets that its caller may not read. */
export function dryRunOf(context: HandlerContext, subjects: readonly string[]): Noted {
  return { origin: auditOriginOf(context), outcome: "OK", reason: "dry run", subjects };
}

const NO_CALL: CallInfo = { transport: "cli", requestId: "", peer: "" };

/** Revision of a message as a number: revisions stay far below 2^53. */
export function optionalNumber(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

/**
 * Caller, call and reason of a change.
 *
 * @param reason of the request; without one, the header (or metadata) `x-change-reason`.
 */
export function originOf(
  context: HandlerContext,
  reason = "",
): AuditOrigin & { readonly reason: string } {
  return {
    ...auditOriginOf(context),
    reason: reason || (headerOf(context, "x-change-reason") ?? ""),
  };
}
