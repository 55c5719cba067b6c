import type { DescMethod } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { CallInfo } from "./call.ts";

/** Report of a finished call. */
export interface CallReport {
  readonly desc: DescMethod;
  readonly call: CallInfo;
  /** Duration, in milliseconds. */
  readonly duration: number;
  /** Its error; undefined when it succeeded. */
  readonly error: ConnectError | undefined;
}

/** Observer of calls. */
export interface CallObserver {
  /** A call has begun; `ended` follows. */
  started?(desc: DescMethod, call: CallInfo): void;
  ended(report: CallReport): void;
}

/** Combines observers. */
export function combineObservers(observers: readonly CallObserver[]): Required<CallObserver> {
  return {
    started: (desc, call) => {
      for (const { started } of observers) started?.(desc, call);
    },
    ended: (report) => {
      for (const { ended } of observers) ended(report);
    },
  };
}

/** Counts the open streams. */
export function countStreams(): CallObserver & { count(): number } {
  let open = 0;
  return {
    count: () => open,
    started: ({ methodKind }) => {
      if (methodKind === "server_streaming") open += 1;
    },
    ended: ({ desc }) => {
      if (desc.methodKind === "server_streaming") open -= 1;
    },
  };
}
