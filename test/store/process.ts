import { type ChildProcess, type ForkOptions, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A message of a child: the reply to a call, or an event. */
export interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly name: string; readonly message: string };
  readonly event?: unknown;
}

/** A part of a test in a separate process. */
export interface TestProcess {
  /** Calls one of the program's functions and waits for its result. */
  call<T>(name: string, ...args: unknown[]): Promise<T>;
  /** Events of the program so far. */
  readonly events: readonly unknown[];
  /** Resolves with the first matching event, also an earlier one. */
  event<T>(fits: (event: T) => boolean): Promise<T>;
  /** Stops it, and continues it. */
  pause(): void;
  resume(): void;
  /** Ends it with a signal that cannot be caught, by its pid. */
  kill(): Promise<void>;
  /** The same, for several tests that share it. */
  stop(): Promise<void>;
}

/**
 * Starts a program of test/ that uses `serve` of ./served.ts. It is ended with the test.
 *
 * @param program - URL of its file.
 */
export function startProcess(program: URL, options: ForkOptions = {}): TestProcess {
  const process = startSharedProcess(program, options);
  onTestFinished(process.kill);
  return process;
}

/** The same for several tests, which end it. */
export function startSharedProcess(program: URL, options: ForkOptions = {}): TestProcess {
  const child = fork(fileURLToPath(program), {
    execArgv: [],
    serialization: "advanced",
    ...options,
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const { events, event, call } = listen(child, ended);
  const kill = (): Promise<void> => {
    child.kill("SIGKILL");
    return ended;
  };
  const pause = (): void => void child.kill("SIGSTOP");
  const resume = (): void => void child.kill("SIGCONT");
  return { events, event, call, pause, resume, kill, stop: kill };
}

function listen(child: ChildProcess, ended: Promise<void>) {
  const calls = new Map<number, (reply: Reply) => void>();
  const events: unknown[] = [];
  const waiting = new Set<(event: unknown) => void>();
  let id = 0;
  child.on("message", (reply: Reply) => {
    if (reply.id !== undefined) return calls.get(reply.id)?.(reply);
    events.push(reply.event);
    for (const hear of waiting) hear(reply.event);
  });
  const failure = ended.then((): never => {
    throw new Error("the process has ended");
  });
  failure.catch(() => undefined);
  return {
    events,
    event: <T>(fits: (event: T) => boolean): Promise<T> => {
      const firstEvent = new Promise<T>((resolve) => {
        const known = (events as T[]).find(fits);
        if (known !== undefined) return resolve(known);
        waiting.add((event) => fits(event as T) && resolve(event as T));
      });
      return Promise.race([firstEvent, failure]);
    },
    call: <T>(name: string, ...args: unknown[]): Promise<T> => {
      const answered = new Promise<T>((resolve, reject) => {
        id += 1;
        calls.set(id, ({ result, error }) =>
          error === undefined
            ? resolve(result as T)
            : reject(Object.assign(new Error(error.message), { name: error.name })),
        );
        child.send({ id, name, args });
      });
      return Promise.race([answered, failure]);
    },
  };
}
