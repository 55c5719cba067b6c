import { setTimeout as sleep } from "node:timers/promises";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type Interceptor } from "@connectrpc/connect";
import { Health } from "../../gen/health/v1/health_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import type { Call } from "../gateway/call.ts";
import { ServiceError, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Engine } from "./engine.ts";

/** Methods of the engine for the current revision. */
type Instance = Pick<Engine, "snapshot" | "refresh">;

/** Methods for checks by supervisors, which do not depend on settings. */
const HEALTH: ReadonlySet<DescMethod> = new Set<DescMethod>([
  PublicService.method.ping,
  ...Health.methods,
]);

/** Header (or metadata) of a read that requires this revision or a later one. */
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
 * Delays a call that requires a revision until this instance has reached it; health checks ignore that
 * header. Replies made without the database get the header with their age.
 *
 * @param awayFor milliseconds since the last answer of an unavailable database; 0: it answers.
 */
export function freshnessInterceptor(engine: Instance, awayFor: () => number): Interceptor {
  return (next) => (request) => {
    const silence = awayFor();
    const asked = HEALTH.has(request.method) ? "" : askedRevision(request);
    const replying =
      asked === "" ? next(request) : reaches(engine, readRevision(asked)).then(() => next(request));
    if (silence === 0) return replying;
    return replying.then((response) => {
      response.header.set(STALE, String(Math.ceil(silence / 1_000)));
      return response;
    });
  };
}

type AnyRequest = Parameters<ReturnType<Interceptor>>[0];

/** Required revision; reads the header without creating web headers if possible. */
function askedRevision(request: AnyRequest): string {
  const { call } = request as { readonly call?: Call };
  return (call === undefined ? request.header.get(AT_LEAST) : call.header(AT_LEAST)) ?? "";
}

function readRevision(text: string): number {
  const revision = /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(revision)) return revision;
  throw new ServiceError(
    Code.InvalidArgument,
    message("AT_LEAST_REVISION_INVALID", { text: text.slice(0, 50) }),
  );
}

/** Maximum wait for a revision and interval between checks, in milliseconds. */
const PATIENCE = 1_000;
const POLL_INTERVAL = 20;

/**
 * Waits until this process shows a revision, or a later one.
 *
 * @throws UNAVAILABLE when it does not within a second.
 */
async function reaches(engine: Instance, revision: number): Promise<void> {
  if (engine.snapshot().revision >= revision) return;
  const giveUp = performance.now() + PATIENCE;
  while ((await engine.refresh()).revision < revision) {
    if (performance.now() > giveUp)
      throw unavailable(
        message("REVISION_NOT_REACHED", { shown: engine.snapshot().revision, asked: revision }),
      );
    await sleep(POLL_INTERVAL);
  }
}
