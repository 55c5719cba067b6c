import { Code } from "@connectrpc/connect";
import { type DestinationStream, type Logger, pino } from "pino";
import type { CallReport } from "../gateway/report.ts";
import { createRepeats } from "./repeats.ts";

export type { Logger };

/**
 * The program's log, on stdout: JSON lines, or text for people on a terminal.
 *
 * @param options.format `auto` is pretty on a terminal and JSON elsewhere.
 * @param options.worker names this process in every line where there are several.
 */
export async function createLogger(options: {
  readonly level: string;
  readonly format: "auto" | "json" | "pretty";
  readonly worker?: number | undefined;
}): Promise<Logger> {
  const { level, format, worker } = options;
  const settings = {
    level,
    base: worker === undefined ? null : { worker },
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: { streamWrite: withoutControls },
  };
  if (format === "json" || (format === "auto" && !process.stdout.isTTY))
    return pino(settings, jsonOutput());
  const { default: pretty } = await import("pino-pretty");
  return pino(settings, pretty({ ignore: "pid,hostname", sync: true }));
}

/** Bytes that wait for a reader who does not read; lines beyond them are left out. */
const WAITING = 4 * 2 ** 20;

/** Writes to stdout beside the event loop, which a reader who does not read must not stop. */
function jsonOutput(): DestinationStream {
  // A least length makes it tell when a line has been written (flushLog).
  return pino.destination({
    dest: process.stdout.fd,
    sync: false,
    minLength: 1,
    maxLength: WAITING,
  });
}

/**
 * Resolves when all lines so far are written or the reader is gone: the exit of the process would
 * wait for that without a limit.
 *
 * @returns false when the reader has not taken them within `limit` milliseconds.
 */
export function flushLog(log: Logger, limit: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), limit);
    log.flush(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/**
 * JSON leaves DEL and the controls after it as they are (RFC 8259, section 7); a terminal may not.
 */
function withoutControls(line: string): string {
  return line.replace(CONTROLS, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

const CONTROLS = /[\x7f-\x9f]/g;

/** Codes that tell of a fault on this side. */
const FAULTS: ReadonlySet<Code> = new Set([Code.Internal, Code.Unknown, Code.DataLoss]);
/** Codes that tell of something a person who runs the site may want to look at. */
const TROUBLES: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.DeadlineExceeded,
]);

/** A line about a failed call. */
interface Line {
  readonly level: "info" | "warn";
  readonly facts: Readonly<Record<string, unknown>>;
}

/**
 * Logs one line for a failed call, with its cause, and one at level debug for any other. A line
 * never has contents of a request or a reply. Unauthenticated clients cannot fill the disk: of one
 * address and code there is a line a minute, with the number of calls that it stands for.
 */
export function logCalls(log: Logger): (report: CallReport) => void {
  const write = ({ level, facts }: Line, times = 1): void =>
    log[level](times === 1 ? facts : { ...facts, times }, "call failed");
  const strangers = createRepeats<Line>({ write });
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
    const level = TROUBLES.has(error.code) ? "warn" : "info";
    const one: Line = { level, facts: { ...failed, cause } };
    if (call.actor !== undefined || log.isLevelEnabled("debug")) write(one);
    else strangers.add(`${call.peer} ${failed.code}`, one);
  };
}
