import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { Recorder } from "../audit/recorder.ts";
import type { CallInfo } from "../gateway/call.ts";
import type { CallObserver } from "../gateway/observer.ts";
import { admissionOf } from "./grant.ts";
import { publicMethods } from "./requirement.ts";

/** Audits refused calls: those without a valid token, and those without the scope. */
export function auditRefusals(audit: Pick<Recorder, "note">): CallObserver {
  return {
    ended: ({ desc, call, error }) => {
      const reason = error && refusalOf(error.code, call, desc);
      if (reason === undefined || error === undefined) return;
      const { actor = "", transport, requestId, peer } = call;
      audit.note({
        origin: { actor, transport, method: desc.name, requestId, peer },
        outcome: codeToString(error.code).toUpperCase(),
        reason,
      });
    },
  };
}

/** Reason of a refusal, one of a few fixed texts; undefined: the call failed for another reason. */
function refusalOf(code: Code, call: CallInfo, desc: DescMethod): string | undefined {
  if (code === Code.PermissionDenied) return "the token does not have the right";
  // An admitted call may still fail because a right has ended or for another reason.
  if (admissionOf(call) !== undefined || publicMethods.has(desc)) return undefined;
  if (code === Code.ResourceExhausted) return "too many wrong tokens";
  if (code !== Code.Unauthenticated) return undefined;
  return call.header?.("authorization") === undefined ? "no token" : "a wrong token";
}
