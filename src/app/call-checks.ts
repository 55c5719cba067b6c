import { setTimeout as sleep } from "node:timers/promises";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type Interceptor } from "@connectrpc/connect";
import { Health } from "../../gen/health/v1/health_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import type { Call } from "../gateway/call.ts";
import { type Line, readEtag } from "../ledger/etag.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { ServiceError, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { refuseNul } from "./nul-check.ts";

/** Methods of the ledger for the revision of this process. */
type Revisions = Pick<Ledger, "snapshot" | "refresh">;

/** Methods for checks by supervisors, which do not depend on settings. */
const HEALTH: ReadonlySet<DescMethod> = new Set<DescMethod>([
  PublicService.method.ping,
  ...Health.methods,
]);

/** Header (or metadata) of a read that requires this revision or etag, or a later one. */
const AT_LEAST = "mooring-at-least-revision";

/**
 * Header (or metadata) with the age of a reply that was made without the database: whole seconds
 * since the database last answered, rounded up. Absent while the database answers.
 *
 * `Age` (RFC 9111, section 5.1) is not used: intermediate caches add their own time to it, and gRPC
 * does not have it.
 */
const STALE = "mooring-stale-seconds";

/**
 * Checks admitted calls. A call with a NUL character in a text is refused. A call that requires a
 * revision waits until this process has reached it; health checks ignore that header. Replies made
 * without the database get the header with their age.
 *
 * @param awayFor milliseconds since the last answer of an unavailable database; 0: it answers.
 * @throws INVALID_ARGUMENT that names the field with the NUL character.
 */
export function checkInterceptor(
  ledger: Revisions,
  line: Line,
  awayFor: () => number,
): Interceptor {
  return (next) => (sent) => {
    const request = refuseNul(sent);
    const age = awayFor();
    const required = HEALTH.has(request.method) ? "" : requiredRevision(request);
    const replying =
      required === ""
        ? next(request)
        : waitForRevision(ledger, line, required).then(() => next(request));
    if (age === 0) return replying;
    return replying.then((response) => {
      response.header.set(STALE, String(Math.ceil(age / 1_000)));
      return response;
    });
  };
}

type AnyRequest = Parameters<ReturnType<Interceptor>>[0];

/** Required revision; reads the header without creating web headers if possible. */
function requiredRevision(request: AnyRequest): string {
  const { call } = request as { readonly call?: Call };
  return (call === undefined ? request.header.get(AT_LEAST) : call.header(AT_LEAST)) ?? "";
}

function invalidRevision(text: string): ServiceError {
  return new ServiceError(
    Code.InvalidArgument,
    message("AT_LEAST_REVISION_INVALID", { text: text.slice(0, 50) }),
  );
}

/** Maximum wait for a revision and interval between checks, in milliseconds. */
const MAX_WAIT = 1_000;
const POLL_INTERVAL = 20;

/**
 * Waits until this process shows a revision, or a later one.
 *
 * @param text the revision or its etag.
 * @throws UNAVAILABLE when it does not within a second; ABORTED for an etag that is not of this
 *   database; INVALID_ARGUMENT for other texts.
 */
async function waitForRevision(ledger: Revisions, line: Line, text: string): Promise<void> {
  const etag = text.trim();
  const required = readEtag(etag);
  if (required === undefined) throw invalidRevision(text);
  await waitForNumber(ledger, required.revision);
  if (required.mark !== "") await line.require(etag);
}

async function waitForNumber(ledger: Revisions, revision: number): Promise<void> {
  if (ledger.snapshot().revision >= revision) return;
  const giveUp = performance.now() + MAX_WAIT;
  while ((await ledger.refresh()).revision < revision) {
    if (performance.now() > giveUp)
      throw unavailable(
        message("REVISION_NOT_REACHED", { shown: ledger.snapshot().revision, asked: revision }),
      );
    await sleep(POLL_INTERVAL);
  }
}
