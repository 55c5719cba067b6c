import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { Recorder } from "../audit/recorder.ts";
import type { CallInfo } from "../gateway/call.ts";
import type { CallObserver } from "../gateway/report.ts";
import { admissionOf } from "./admission.ts";
import { publicMethods } from "./authenticate.ts";

/** Audits refused calls: those without a valid token, and those without the scope. */
export function auditRefusals(audit: Pick<Recorder, "note">): CallObserver {
  return {
    started: () => undefined,
    ended: ({ desc, call, error }) => {
      const reason = error && reasonOf(error.code, call, desc);
      if (reason === undefined || error === undefined) return;
      const { actor = "", door, requestId, peer } = call;
      audit.note({
        origin: { actor, door, method: desc.name, requestId, peer },
        outcome: codeToString(error.code).toUpperCase(),
        reason,
      });
    },
  };
}

/** Why a call was refused, in the same few words for all; undefined: it failed for another reason. */
function reasonOf(code: Code, call: CallInfo, desc: DescMethod): string | undefined {
  if (code === Code.PermissionDenied) return "the token has no right to it";
  // An admitted call may still fail because a right has ended or for another reason.
  if (admissionOf(call) !== undefined || publicMethods.has(desc)) return undefined;
  if (code === Code.ResourceExhausted) return "too many wrong tokens";
  if (code !== Code.Unauthenticated) return undefined;
  return call.header?.("authorization") === undefined ? "no token" : "a wrong token";
}
