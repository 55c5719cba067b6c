import type { DescMethod, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toConnectError } from "../error.ts";
import type { Call, Interceptor } from "../method.ts";

/** What is known of a call when it has ended. */
export interface CallReport {
  readonly desc: DescMethod;
  readonly call: Call;
  /** How long it took, in milliseconds. */
  readonly duration: number;
  /** Why it failed; undefined when it succeeded. */
  readonly error: ConnectError | undefined;
}

/**
 * The outermost interceptor: reports every call once, and makes sure that a door sees nothing but a
 * ConnectError. A call whose client went away counts as CANCELED, one whose time limit is over as
 * DEADLINE_EXCEEDED.
 */
export function reportInterceptor(
  report: (report: CallReport) => void,
  now: () => number,
): Interceptor {
  const failed = (desc: DescMethod, call: Call, started: number, thrown: unknown): ConnectError => {
    const error =
      call.signal.aborted && !(thrown instanceof ConnectError)
        ? interrupted(call.signal, thrown)
        : toConnectError(thrown);
    report({ desc, call, duration: now() - started, error });
    return error;
  };
  return {
    unary: (next, desc) => (request, call) => {
      const started = now();
      const succeeded = (reply: Message): Message => {
        report({ desc, call, duration: now() - started, error: undefined });
        return reply;
      };
      try {
        const reply = next(request, call);
        if (!(reply instanceof Promise)) return succeeded(reply);
        return reply.then(succeeded, (thrown: unknown) => {
          throw failed(desc, call, started, thrown);
        });
      } catch (thrown) {
        throw failed(desc, call, started, thrown);
      }
    },
    serverStreaming: (next, desc) =>
      async function* (request, call) {
        const started = now();
        try {
          yield* next(request, call);
          report({ desc, call, duration: now() - started, error: undefined });
        } catch (thrown) {
          throw failed(desc, call, started, thrown);
        }
      },
  };
}

/** Why a call was ended before it was done, as far as its door has said. */
function interrupted({ reason }: AbortSignal, cause: unknown): ConnectError {
  const late = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
  return late
    ? new ConnectError("the call's time limit is over", reason.code, undefined, undefined, cause)
    : new ConnectError("the client ended the call", Code.Canceled, undefined, undefined, cause);
}
