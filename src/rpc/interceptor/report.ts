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
    serverStreaming: (next, desc) => (request, call) => {
      const started = now();
      return observed(() => next(request, call), {
        done: () => report({ desc, call, duration: now() - started, error: undefined }),
        failed: (thrown) => failed(desc, call, started, thrown),
      });
    },
  };
}

interface Observer {
  done(): void;
  /** @returns what is thrown instead. */
  failed(thrown: unknown): unknown;
}

/**
 * A stream that tells how it ends. An iterator and not a generator around the stream: that would wait
 * several times more for every message.
 */
function observed<T>(open: () => AsyncIterable<T>, observer: Observer): AsyncIterable<T> {
  let messages: AsyncIterator<T> | undefined;
  let over = false;
  const seen = (result: IteratorResult<T>): IteratorResult<T> => {
    if (result.done && !over) observer.done();
    if (result.done) over = true;
    return result;
  };
  const fail = (thrown: unknown): never => {
    over = true;
    throw observer.failed(thrown);
  };
  const next = (): Promise<IteratorResult<T>> => {
    try {
      messages ??= open()[Symbol.asyncIterator]();
      return messages.next();
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  };
  const iterator: AsyncIterator<T> = {
    next: () => {
      if (over) return Promise.resolve({ done: true, value: undefined });
      return next().then(seen, fail);
    },
    return: async () => {
      over = true;
      await messages?.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Why a call was ended before it was done, as far as its door has said. */
function interrupted({ reason }: AbortSignal, cause: unknown): ConnectError {
  const late = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
  return late
    ? new ConnectError("the call's time limit is over", reason.code, undefined, undefined, cause)
    : new ConnectError("the client ended the call", Code.Canceled, undefined, undefined, cause);
}
