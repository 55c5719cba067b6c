import type { DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import type {
  ContextValues,
  HandlerContext,
  Interceptor,
  StreamRequest,
  UnaryRequest,
  UnaryResponse,
} from "@connectrpc/connect";
import type { Call } from "./call.ts";

/** Next function of an interceptor. */
export type AnyFn = ReturnType<Interceptor>;

/** A request as interceptors see it. */
export type Requested<R> = R & { readonly call: Call };

/**
 * Unary request with lazy members, defined on the prototype: getters on each object would cost 2 µs
 * a call.
 */
export class LazyRequest implements UnaryRequest {
  readonly stream = false;
  readonly service: DescService;
  readonly method: DescMethodUnary;
  readonly message: Message;
  readonly requestMethod: string;
  readonly call: Call;

  constructor(method: DescMethodUnary, message: Message, call: Call) {
    this.service = method.parent;
    this.method = method;
    this.message = message;
    this.requestMethod = call.requestMethod;
    this.call = call;
  }

  get url(): string {
    return this.call.url;
  }

  get header(): Headers {
    return this.call.requestHeader;
  }

  get signal(): AbortSignal {
    return this.call.signal;
  }

  get contextValues(): ContextValues {
    return this.call.values;
  }
}

/** Unary response with lazy members. */
export class LazyResponse implements UnaryResponse {
  readonly stream = false;
  readonly service: DescService;
  readonly method: DescMethodUnary;
  readonly message: Message;
  readonly #call: Call;

  constructor(method: DescMethodUnary, message: Message, call: Call) {
    this.service = method.parent;
    this.method = method;
    this.message = message;
    this.#call = call;
  }

  get header(): Headers {
    return this.#call.responseHeader;
  }

  get trailer(): Headers {
    return this.#call.responseTrailer;
  }
}

/**
 * Composes interceptors. A request that one of them passes on may be a copy, which has own members
 * only; a synchronous error becomes a rejection for the outer ones.
 */
export function fold(innermost: AnyFn, interceptors: readonly Interceptor[]): AnyFn {
  return interceptors.reduceRight<AnyFn>((next, interceptor) => {
    const inner: AnyFn = (request) => {
      try {
        return next(request.stream ? request : revived(request));
      } catch (error) {
        return Promise.reject(error);
      }
    };
    return interceptor(inner);
  }, innermost);
}

/** Request changed by an interceptor: own members override those of the original. */
class ChangedRequest extends LazyRequest {}

function revived(request: UnaryRequest): UnaryRequest {
  if (request instanceof LazyRequest) return request;
  return Object.create(ChangedRequest.prototype, Object.getOwnPropertyDescriptors(request));
}

/** Handler context of a request that an interceptor may have changed. */
export function contextOf(request: UnaryRequest | StreamRequest, call: Call): HandlerContext {
  if (request instanceof LazyRequest && !(request instanceof ChangedRequest)) return call;
  // Reads the header only if an interceptor has replaced it: reading creates it.
  const own = Object.getOwnPropertyDescriptor(request, "header")?.value as Headers | undefined;
  if (own === undefined || own === call.requestHeader) return call;
  return Object.create(call, {
    requestHeader: { value: own },
    signal: { value: request.signal },
    values: { value: request.contextValues },
  }) as HandlerContext;
}
