import type { DescMethod } from "@bufbuild/protobuf";
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
 * ConnectError. A call whose client went away counts as CANCELED.
 */
export function reportInterceptor(
  report: (report: CallReport) => void,
  now: () => number,
): Interceptor {
  const failed = (desc: DescMethod, call: Call, started: number, thrown: unknown): ConnectError => {
    const error =
      call.signal.aborted && !(thrown instanceof ConnectError)
        ? new ConnectError("the client ended the call", Code.Canceled, undefined, undefined, thrown)
        : toConnectError(thrown);
    report({ desc, call, duration: now() - started, error });
    return error;
  };
  return {
    unary: (next, desc) => async (request, call) => {
      const started = now();
      try {
        const reply = await next(request, call);
        report({ desc, call, duration: now() - started, error: undefined });
        return reply;
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
