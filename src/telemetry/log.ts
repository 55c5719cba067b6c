import { Code } from "@connectrpc/connect";
import { type DestinationStream, type Logger, pino } from "pino";
import type { CallReport } from "../gateway/observer.ts";
import { Message } from "../messages/message.ts";

export type { Logger };

/**
 * The program's log, on stdout: JSON lines, or text for people on a terminal.
 *
 * @param options.format `auto` is pretty on a terminal and JSON elsewhere.
 * @param options.worker number of this worker process, added to every line.
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
    formatters: { log: withSentences },
  };
  if (format === "json" || (format === "auto" && !process.stdout.isTTY))
    return pino({ ...settings, hooks: { streamWrite: escapeInJson } }, jsonOutput());
  const { default: pretty } = await import("pino-pretty");
  const output = pretty({ ...PRETTY, sync: true });
  return pino({ ...settings, hooks: { streamWrite: escapeForPeople } }, output);
}

/** Form of the text for people: one line an event with date and time; only errors have a stack. */
export const PRETTY = {
  ignore: "pid,hostname",
  singleLine: true,
  translateTime: "SYS:yyyy-mm-dd HH:MM:ss",
} as const;

/**
 * Members of a line with English sentences in place of messages. The id and the parameters of a
 * message are members of their own: `reason` has `reasonId` and `reasonParameters`.
 */
export function withSentences(facts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]): [string, unknown][] => {
      if (!(value instanceof Message))
        return [[name, Array.isArray(value) ? value.map(withoutMessages) : value]];
      const { id, parameters } = value;
      const hasParameters = Object.keys(parameters).length > 0;
      return [
        [name, String(value)],
        [`${name}Id`, id],
        ...(hasParameters ? [[`${name}Parameters`, parameters] as [string, unknown]] : []),
      ];
    }),
  );
}

function withoutMessages(value: unknown): unknown {
  return value instanceof Message ? String(value) : value;
}

/** Maximum number of pending bytes while stdout is not read; further lines are dropped. */
const WAITING = 4 * 2 ** 20;

/** Writes to stdout asynchronously: a blocked pipe must not block the event loop. */
function jsonOutput(): DestinationStream {
  // With minLength, flush calls back after the write (flushLog).
  return pino.destination({
    dest: process.stdout.fd,
    sync: false,
    minLength: 1,
    maxLength: WAITING,
  });
}

/**
 * Resolves when all lines so far are written or the reader has closed stdout. The exit of the
 * process would wait for the write without a limit.
 *
 * @returns false if they are not written within `limit` milliseconds.
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
 * DEL, the C1 controls, line separators and characters that change the direction of text: JSON does
 * not escape them (RFC 8259, section 7), and terminals interpret them.
 */
const HOSTILE = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Escapes hostile characters in a line of JSON, which stays the same JSON. */
export function escapeInJson(line: string): string {
  return line.replace(HOSTILE, escaped);
}

/**
 * Escapes hostile characters and control characters in the texts of a line of JSON, so that they
 * are escapes in the texts themselves: pretty output decodes JSON. Line breaks and tabs stay.
 */
export function escapeForPeople(line: string): string {
  return line
    .replace(/\\(?:u00[01][0-9a-f]|.)/gs, (sequence) =>
      /^\\(?:u00|[bfr])/.test(sequence) ? `\\${sequence}` : sequence,
    )
    .replace(HOSTILE, (char) => `\\${escaped(char)}`);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Codes of server errors. */
const FAULTS: ReadonlySet<Code> = new Set([Code.Internal, Code.Unknown, Code.DataLoss]);
/** Codes that operators may need to act on. */
const TROUBLES: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.DeadlineExceeded,
]);

/** Line about a failed call. */
interface Line {
  readonly level: "info" | "warn";
  readonly facts: Readonly<Record<string, unknown>>;
}

/**
 * Logs one line for a failed call, with its cause, and one at level debug for any other. Lines have no
 * contents of requests or replies. Unauthenticated clients cannot fill the disk: one address and code
 * has one line a minute, with the number of calls.
 */
export function logCalls(log: Logger): (report: CallReport) => void {
  const write = ({ level, facts }: Line, times = 1): void =>
    log[level](times === 1 ? facts : { ...facts, times }, "call failed");
  const strangers = createRepeats<Line>({ write });
  return ({ desc, call, duration, error }) => {
    if (error === undefined && !log.isLevelEnabled("debug")) return;
    const line = {
      requestId: call.requestId,
      transport: call.transport,
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

/** Summarizes repeated log lines of one subject. */
interface Repeats<T> {
  /** Writes the line, or counts it. @param subject such as a client's address. */
  add(subject: string, line: T): void;
}

interface RepeatsOptions<T> {
  /** @param times number of summarized lines. */
  readonly write: (line: T, times: number) => void;
  /** Time in which the lines after the first are counted, in milliseconds. Default: 60,000. */
  readonly interval?: number;
  /** Maximum number of separate subjects; further ones share one. Default: 256. */
  readonly subjects?: number;
}

/** Lines counted since the last written one. */
interface Counted<T> {
  last: T;
  times: number;
}

/** Subject of the lines beyond the maximum number of subjects. */
const OTHERS = "";

/**
 * Writes the first line of a subject at once; those of the next interval are counted, and only the
 * last one is written.
 */
export function createRepeats<T>(options: RepeatsOptions<T>): Repeats<T> {
  const { write, interval = 60_000, subjects = 256 } = options;
  const open = new Map<string, Counted<T>>();
  const wait = (subject: string): void => {
    setTimeout(() => {
      const counted = open.get(subject);
      open.delete(subject);
      if (counted === undefined || counted.times === 0) return;
      write(counted.last, counted.times);
      open.set(subject, { last: counted.last, times: 0 });
      wait(subject);
    }, interval).unref();
  };
  return {
    add: (subject, line) => {
      const key = open.has(subject) || open.size < subjects ? subject : OTHERS;
      const counted = open.get(key);
      if (counted !== undefined) {
        counted.last = line;
        counted.times += 1;
        return;
      }
      open.set(key, { last: line, times: 0 });
      write(line, 1);
      wait(key);
    },
  };
}
