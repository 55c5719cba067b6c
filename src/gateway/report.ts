import type { DescMethod, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { isApplicationError, toConnectError } from "./application-error.ts";
import { type Call, type CallInfo, callKey } from "./call.ts";
import type { CallObserver } from "./observer.ts";

/** Adds details to an error before it is sent; returns the error to send. */
type Localize = (error: ConnectError, request: AnyRequest) => unknown;
type AnyRequest = Parameters<ReturnType<Interceptor>>[0];

/**
 * Reports every call once, outside of all interceptors that may fail, and ensures that transports
 * receive ConnectErrors only. An ended call fails with the reason: CANCELED when its client
 * disconnected, DEADLINE_EXCEEDED when its deadline passed, UNAUTHENTICATED when the right to it
 * ended. A reply without a valid encoding fails with INTERNAL; the bytes are kept for the
 * transport.
 *
 * @param localize adds the error's message in the language of the call. Default: nothing.
 */
export function reportInterceptor(
  { started: begin, ended }: CallObserver,
  now: () => number,
  localize: Localize = (error) => error,
): Interceptor {
  const end = ({ desc, call, started }: Begun, error?: ConnectError): void =>
    ended({ desc, call, duration: now() - started, error });
  const fail = (begun: Begun, request: AnyRequest, thrown: unknown): unknown => {
    const error = toConnectError(reasonOf(thrown, request));
    end(begun, error);
    return localize(error, request);
  };
  return (next) => async (request) => {
    const begun = { desc: request.method, call: callOf(request), started: now() };
    begin?.(begun.desc, begun.call);
    try {
      const response = await next(request);
      const { call } = request as { readonly call?: Call };
      if (response.stream) {
        const observer = {
          received: (message: Message) => call?.encode(message),
          done: () => end(begun),
          failed: (thrown: unknown) => fail(begun, request, thrown),
        };
        return { ...response, message: observed(response.message, request, observer) };
      }
      const preparing = call?.prepare(response.message as Message, request);
      if (preparing !== undefined) await preparing;
      call?.encode(response.message as Message);
      end(begun);
      return response;
    } catch (thrown) {
      throw fail(begun, request, thrown);
    }
  };
}

/** A call that has begun. */
interface Begun {
  readonly desc: DescMethod;
  readonly call: CallInfo;
  readonly started: number;
}

/** Caller of a request. A request outside of the transports has none. */
function callOf(request: AnyRequest): CallInfo {
  const { call } = request as { call?: CallInfo };
  return (
    call ?? request.contextValues.get(callKey) ?? { transport: "cli", requestId: "", peer: "" }
  );
}

function reasonOf(thrown: unknown, request: { readonly signal: AbortSignal }): unknown {
  if (thrown instanceof ConnectError || isApplicationError(thrown)) return thrown;
  return request.signal.aborted ? request.signal.reason : thrown;
}

interface Observer {
  /** Throws for a message that cannot be sent. */
  received(message: Message): void;
  done(): void;
  /** @returns the error that is thrown instead. */
  failed(thrown: unknown): unknown;
}

/**
 * Stream that reports its end. If it was ended here (by its deadline or the end of the right) it
 * fails with that reason; after a disconnect it ends in any way.
 */
function observed<T>(
  messages: AsyncIterable<T>,
  { signal }: { readonly signal: AbortSignal },
  observer: Observer,
): AsyncIterable<T> {
  const iterator = messages[Symbol.asyncIterator]();
  let over = false;
  /** @returns the error with which the stream fails; undefined: it has ended. */
  const report = (): unknown => {
    over = true;
    const { reason } = signal;
    if (reason instanceof ConnectError && reason.code !== Code.Canceled)
      return observer.failed(reason);
    observer.done();
    return undefined;
  };
  const end = (): IteratorResult<T> => {
    const error = over ? undefined : report();
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  };
  const fail = (thrown: unknown): never => {
    over = true;
    throw observer.failed(thrown);
  };
  // Not async: one more promise per message of every stream.
  const take = (result: IteratorResult<T>): IteratorResult<T> | Promise<never> => {
    if (result.done) return end();
    try {
      observer.received(result.value as Message);
      return result;
    } catch (thrown) {
      const give = (): never => fail(thrown);
      return Promise.resolve(iterator.return?.()).then(give, give);
    }
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => iterator.next().then(take, fail),
      return: async () => {
        if (!over) report();
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}
