import {
  create,
  type DescMethod,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  isMessage,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import {
  type ConnectRouter,
  type ContextValues,
  createMethodImplSpec,
  createServiceImplSpec,
  type HandlerContext,
  type Interceptor,
  type MethodImplSpec,
  type StreamRequest,
  type StreamResponse,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import type { Call } from "./call.ts";

/** The reply of an rpc that has one. */
export interface Answer {
  readonly message: Message;
}

/**
 * Unary method inside all its interceptors, as called by every transport. A read returns the same
 * message object while its state is unchanged, so that its encoded bytes are cached by identity.
 */
export interface UnaryMethod {
  readonly kind: "unary";
  readonly desc: DescMethodUnary;
  readonly invoke: (request: Message, call: Call) => Promise<Answer>;
}

/** A server-streaming method with its interceptors. The iteration ends when `call.signal` is aborted. */
export interface StreamMethod {
  readonly kind: "server_streaming";
  readonly desc: DescMethodServerStreaming;
  readonly invoke: (request: Message, call: Call) => AsyncIterable<Message>;
}

/** A client-streaming method with its interceptors. */
export interface ClientStreamMethod {
  readonly kind: "client_streaming";
  readonly desc: DescMethodClientStreaming;
  readonly invoke: (requests: AsyncIterable<Message>, call: Call) => Promise<Answer>;
}

/** A method of the contract, bound to its implementation. */
export type Method = UnaryMethod | StreamMethod | ClientStreamMethod;

/** Registers services (connectrpc.com/docs/node/implementing-services). */
export type Routes = (router: ConnectRouter) => unknown;

/**
 * Reports whether a method is a read, by its idempotency_level: its encoded replies may be cached.
 * @internal
 */
export function isRead({ idempotency }: DescMethod): boolean {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

/**
 * The methods of all registered services, each with Connect's interceptors folded around it once. The
 * first interceptor is the outermost.
 *
 * @throws Error that names the rpc for a bidirectional stream.
 */
export function createMethods(routes: Routes, interceptors: readonly Interceptor[] = []): Method[] {
  const specs: MethodImplSpec[] = [];
  const router: ConnectRouter = {
    handlers: [],
    service: (service, implementation) => {
      specs.push(...Object.values(createServiceImplSpec(service, implementation).methods));
      return router;
    },
    rpc: (method, implementation) => {
      specs.push(createMethodImplSpec(method, implementation));
      return router;
    },
  };
  routes(router);
  return specs.map((spec) => bind(spec, interceptors));
}

function bind(spec: MethodImplSpec, interceptors: readonly Interceptor[]): Method {
  switch (spec.kind) {
    case "unary":
      return bindUnary(spec, interceptors);
    case "server_streaming":
      return bindStream(spec, interceptors);
    case "client_streaming":
      return bindClientStream(spec, interceptors);
    case "bidi_streaming":
      throw new Error(`${spec.method.parent.typeName}.${spec.method.name}: ${BIDIRECTIONAL}`);
  }
}

/** Message for a bidirectional stream, which is refused. @internal */
export const BIDIRECTIONAL =
  "a bidirectional stream needs gRPC over HTTP/2 and cannot be served here; serve its service with Connect's own adapter";

type Spec<Kind> = Extract<MethodImplSpec, { kind: Kind }>;
function bindUnary({ method, impl }: Spec<"unary">, interceptors: readonly Interceptor[]): Method {
  const innermost = async (request: UnaryRequest): Promise<UnaryResponse> => {
    const { call } = request as Requested<UnaryRequest>;
    const replying = impl(request.message, contextOf(request, call));
    // Reads answer at once, and a wait costs as much as a read.
    const reply = replying instanceof Promise ? await replying : replying;
    return new LazyResponse(method, whole(method, reply), call);
  };
  const next = fold(innermost as AnyFn, interceptors);
  const invoke = (message: Message, call: Call): Promise<Answer> => {
    const reply = next(new LazyRequest(method, message, call)) as Promise<UnaryResponse & Answer>;
    return call.limited ? inTime(reply, call) : reply;
  };
  return { kind: "unary", desc: method, invoke };
}

function bindStream(
  { method, impl }: Spec<"server_streaming">,
  interceptors: readonly Interceptor[],
): Method {
  const innermost = async (request: StreamRequest): Promise<StreamResponse> => {
    const { call } = request as Requested<StreamRequest>;
    const replies = impl(await firstOf(request.message), contextOf(request, call));
    return streamResponse(method, wholeOnes(method, replies), call);
  };
  const next = fold(innermost as AnyFn, interceptors);
  const open = async (message: Message, call: Call) =>
    (await next(streamRequest(method, only(message), call))).message as AsyncIterable<Message>;
  const invoke: StreamMethod["invoke"] = (message, call) =>
    lazily(async () => (await open(message, call))[Symbol.asyncIterator]());
  return { kind: "server_streaming", desc: method, invoke };
}

function bindClientStream(
  { method, impl }: Spec<"client_streaming">,
  interceptors: readonly Interceptor[],
): Method {
  const innermost = async (request: StreamRequest): Promise<StreamResponse> => {
    const { call } = request as Requested<StreamRequest>;
    const reply = await impl(request.message, contextOf(request, call));
    return streamResponse(method, only(whole(method, reply)), call);
  };
  const next = fold(innermost as AnyFn, interceptors);
  const reply = async (requests: AsyncIterable<Message>, call: Call): Promise<Answer> => {
    const response = await next(streamRequest(method, requests, call));
    return { message: await firstOf(response.message as AsyncIterable<Message>) };
  };
  const invoke: ClientStreamMethod["invoke"] = (requests, call) =>
    call.limited ? inTime(reply(requests, call), call) : reply(requests, call);
  return { kind: "client_streaming", desc: method, invoke };
}

function streamRequest(
  method: DescMethodServerStreaming | DescMethodClientStreaming,
  message: AsyncIterable<Message>,
  call: Call,
): Requested<StreamRequest> {
  return {
    stream: true,
    service: method.parent,
    method,
    message,
    call,
    requestMethod: call.requestMethod,
    url: call.url,
    header: call.requestHeader,
    signal: call.signal,
    contextValues: call.values,
  };
}

function streamResponse(
  method: DescMethodServerStreaming | DescMethodClientStreaming,
  message: AsyncIterable<Message>,
  call: Call,
): StreamResponse {
  return {
    stream: true,
    service: method.parent,
    method,
    message,
    get header() {
      return call.responseHeader;
    },
    get trailer() {
      return call.responseTrailer;
    },
  };
}

/** Handlers may return the members alone. */
function whole({ output }: DescMethod, reply: MessageInitShape<DescMethod["output"]>): Message {
  return isMessage(reply) ? reply : create(output, reply);
}

/** An iterator and not a generator, which would wait several times more per message. */
function wholeOnes(
  method: DescMethod,
  replies: AsyncIterable<MessageInitShape<DescMethod["output"]>>,
): AsyncIterable<Message> {
  const iterator = replies[Symbol.asyncIterator]();
  const made = (result: IteratorResult<MessageInitShape<DescMethod["output"]>>) =>
    result.done ? result : { done: false as const, value: whole(method, result.value) };
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => iterator.next().then(made) as Promise<IteratorResult<Message>>,
      return: async () => {
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}

function lazily(open: () => Promise<AsyncIterator<Message>>): AsyncIterable<Message> {
  let opened: Promise<AsyncIterator<Message>> | undefined;
  let iterator: AsyncIterator<Message> | undefined;
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        if (iterator !== undefined) return iterator.next();
        opened ??= open();
        return opened.then((it) => {
          iterator = it;
          return it.next();
        });
      },
      return: async () => {
        const it = iterator ?? (await opened?.catch(() => undefined));
        await it?.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}

async function firstOf<T>(messages: AsyncIterable<T>): Promise<T> {
  for await (const message of messages) return message;
  throw new Error("an interceptor has removed the message");
}

async function* only(message: Message): AsyncIterable<Message> {
  yield message;
}

/** The result of a call, or the reason of its abort if that happens first. */
function inTime<T>(reply: Promise<T>, { signal }: Call): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const end = (): void => reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  reply.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  return promise;
}

/** Next function of an interceptor. */
type AnyFn = ReturnType<Interceptor>;

/** A request as interceptors see it. */
type Requested<R> = R & { readonly call: Call };

/**
 * Unary request with lazy members, defined on the prototype: getters on each object would cost 2 µs
 * a call.
 */
class LazyRequest implements UnaryRequest {
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
class LazyResponse implements UnaryResponse {
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
function fold(innermost: AnyFn, interceptors: readonly Interceptor[]): AnyFn {
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
function contextOf(request: UnaryRequest | StreamRequest, call: Call): HandlerContext {
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
