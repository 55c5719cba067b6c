import { Code } from "@connectrpc/connect";
import { type Logger, pino } from "pino";
import type { CallReport } from "../rpc/interceptor/report.ts";

export type { Logger };

/**
 * The program's log, on stdout: JSON lines, or text for people on a terminal.
 *
 * @param format `auto` is pretty on a terminal and JSON elsewhere.
 */
export async function createLogger(options: {
  readonly level: string;
  readonly format: "auto" | "json" | "pretty";
}): Promise<Logger> {
  const { level, format } = options;
  const settings = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (format === "json" || (format === "auto" && !process.stdout.isTTY)) return pino(settings);
  const { default: pretty } = await import("pino-pretty");
  return pino(settings, pretty({ ignore: "pid,hostname", sync: true }));
}

/** Codes that tell of a fault on this side. */
const FAULTS: ReadonlySet<Code> = new Set([Code.Internal, Code.Unknown, Code.DataLoss]);
/** Codes that tell of something a person who runs the site may want to look at. */
const TROUBLES: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.DeadlineExceeded,
]);

/**
 * Logs one line for a failed call, with its cause, and one at level debug for any other. A line
 * never has a request's or a reply's contents.
 */
export function logCalls(log: Logger): (report: CallReport) => void {
  return ({ desc, call, duration, error }) => {
    if (error === undefined && !log.isLevelEnabled("debug")) return;
    const line = {
      requestId: call.requestId,
      door: call.door,
      method: `${desc.parent.typeName}/${desc.name}`,
      peer: call.peer,
      actor: call.actor,
      ms: Math.round(duration * 10) / 10,
    };
    if (error === undefined) return log.debug(line, "call");
    const failed = { ...line, code: Code[error.code], reason: error.rawMessage };
    if (FAULTS.has(error.code)) return log.error({ ...failed, err: error.cause }, "call failed");
    const cause = error.cause instanceof Error ? error.cause.message : undefined;
    if (TROUBLES.has(error.code)) return log.warn({ ...failed, cause }, "call failed");
    return log.info({ ...failed, cause }, "call failed");
  };
}
