import { status } from "@grpc/grpc-js";
import type { CallFailure } from "./caller.ts";
import type { Connection } from "./connection.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { CliFailure } from "./failure.ts";

/** Exit code of each status: a status that is missing here is a compile error. */
const EXIT_OF: Readonly<Record<CallFailure["code"], ExitCode>> = {
  [status.CANCELLED]: EXIT.unavailable,
  [status.UNKNOWN]: EXIT.failed,
  [status.INVALID_ARGUMENT]: EXIT.refused,
  [status.DEADLINE_EXCEEDED]: EXIT.unavailable,
  [status.NOT_FOUND]: EXIT.notFound,
  [status.ALREADY_EXISTS]: EXIT.conflict,
  [status.PERMISSION_DENIED]: EXIT.unauthenticated,
  [status.RESOURCE_EXHAUSTED]: EXIT.failed,
  [status.FAILED_PRECONDITION]: EXIT.refused,
  [status.ABORTED]: EXIT.conflict,
  // A revision that is not kept any more.
  [status.OUT_OF_RANGE]: EXIT.notFound,
  [status.UNIMPLEMENTED]: EXIT.failed,
  [status.INTERNAL]: EXIT.failed,
  [status.UNAVAILABLE]: EXIT.unavailable,
  [status.DATA_LOSS]: EXIT.failed,
  [status.UNAUTHENTICATED]: EXIT.unauthenticated,
};

/** What a failed call means for the person at the terminal, and for a script. */
export function explainCall(failure: CallFailure, connection: Connection): CliFailure {
  const message = explain(failure, connection);
  // One violation is the message itself.
  const lines = failure.violations.length > 1 ? failure.violations : [];
  return new CliFailure(EXIT_OF[failure.code] ?? EXIT.failed, message, lines);
}

function explain(failure: CallFailure, connection: Connection): string {
  const { code, message, answered, violations } = failure;
  const { place, tokenSource, timeout } = connection;
  if (violations.length > 1) return `nothing was saved: ${violations.length} values are wrong`;
  if (code === status.UNAUTHENTICATED)
    return `${place} refused the token of ${tokenSource}: ${message}`;
  if (code === status.DEADLINE_EXCEEDED && !answered)
    return `${place} did not answer within ${timeout}; a change may have been made all the same: "mooring history" tells. --timeout waits longer`;
  if (code === status.UNIMPLEMENTED)
    return `${place} does not know this call (${message}): is it a Mooring, and as new as this command?`;
  if (answered) return message;
  if (code === status.RESOURCE_EXHAUSTED) return `this is too large for one call (${message})`;
  if (code === status.UNAVAILABLE)
    return `no service answers at ${place} (${reasonOf(message)}): is it running? --address or MOORING_ADDRESS says where it is`;
  return `${place} gave no answer that a Mooring gives (${message}): is the address right?`;
}

/** What the connection failed with, out of the sentence that gRPC makes of it. */
function reasonOf(message: string): string {
  const [, last = message] =
    /Last error: (?:Error: )?(.*?)(?:\. Resolution note:.*)?$/s.exec(message) ?? [];
  if (last.includes("ECONNREFUSED")) return "nothing listens there";
  if (last.includes("ENOENT")) return "there is no such socket";
  if (/ENOTFOUND|EAI_AGAIN|Name resolution failed/.test(last)) return "the name is not known";
  return last.trim();
}
