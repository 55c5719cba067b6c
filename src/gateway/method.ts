import {
  create,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodStreaming,
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
import { checkRouterOptions, mergeRouterOptions, type RouterOptions } from "./settings.ts";

/** The reply of an rpc that has one. */
export interface Answer {
  readonly message: Message;
}

/** Unary method inside all its interceptors, as called by every transport. */
export interface UnaryMethod {
  readonly kind: "unary";
  readonly desc: DescMethodUnary;
  readonly options?: RouterOptions;
  readonly invoke: (request: Message, call: Call) => Promise<Answer>;
}

/** A server-streaming method with its interceptors. The iteration ends when `call.signal` is aborted. */
export interface StreamMethod {
  readonly kind: "server_streaming";
  readonly desc: DescMethodServerStreaming;
  readonly options?: RouterOptions;
  readonly invoke: (request: Message, call: Call) => AsyncIterable<Message>;
}

/** A client-streaming method with its interceptors. */
export interface ClientStreamMethod {
  readonly kind: "client_streaming";
  readonly desc: DescMethodClientStreaming;
  readonly options?: RouterOptions;
  readonly invoke: (requests: AsyncIterable<Message>, call: Call) => Promise<Answer>;
}

/** A bidirectional stream with its interceptors, over Connect and HTTP/2. */
export interface BidiStreamMethod {
  readonly kind: "bidi_streaming";
  readonly desc: DescMethodBiDiStreaming;
  readonly options?: RouterOptions;
  readonly invoke: (requests: AsyncIterable<Message>, call: Call) => AsyncIterable<Message>;
}

/**
 * A method of the contract, bound to its implementation. Its options are those of its service or
 * rpc; `interceptors` are in `invoke` already.
 */
export type Method = UnaryMethod | StreamMethod | ClientStreamMethod | BidiStreamMethod;

/** Registers services (connectrpc.com/docs/node/implementing-services). */
export type Routes = (router: ConnectRouter) => unknown;

/**
 * Reports whether a method is a read, by its idempotency_level: its replies may be cached.
 * @internal
 */
export function isRead({ idempotency }: DescMethod): boolean {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

/**
 * The methods of all registered services, each with Connect's interceptors folded around it once. The
 * first interceptor is the outermost.
 *
 * @param options for services and rpcs that have none of their own: an array is `interceptors`.
 * @throws Error that names an option that is unknown or unsuitable.
 */
export function createMethods(
  routes: Routes,
  options: readonly Interceptor[] | RouterOptions = {},
): Method[] {
  const common: RouterOptions = isArray(options) ? { interceptors: [...options] } : options;
  checkRouterOptions(common, "createMethods");
  const methods: Method[] = [];
  const router: ConnectRouter = {
    handlers: [],
    service: (service, implementation, own = {}) => {
      checkRouterOptions(own, `router.service(${service.typeName})`);
      const merged = mergeRouterOptions(common, own);
      const specs = Object.values(createServiceImplSpec(service, implementation).methods);
      methods.push(...specs.map((spec) => bind(spec, merged)));
      return router;
    },
    rpc: (method, implementation, own = {}) => {
      checkRouterOptions(own, `router.rpc(${method.parent.typeName}.${method.name})`);
      methods.push(
        bind(createMethodImplSpec(method, implementation), mergeRouterOptions(common, own)),
      );
      return router;
    },
  };
  routes(router);
  return methods;
}

/** Array.isArray does not narrow a readonly array. */
function isArray(value: readonly Interceptor[] | RouterOptions): value is readonly Interceptor[] {
  return Array.isArray(value);
}

function bind(spec: MethodImplSpec, options: RouterOptions): Method {
  switch (spec.kind) {
    case "unary":
      return bindUnary(spec, options);
    case "server_streaming":
      return bindStream(spec, options);
    case "client_streaming":
      return bindClientStream(spec, options);
    case "bidi_streaming":
      return bindBidiStream(spec, options);
  }
}

type Spec<Kind> = Extract<MethodImplSpec, { kind: Kind }>;

function bindUnary({ method, impl }: Spec<"unary">, options: RouterOptions): Method {
  const innermost = async (request: Requested<UnaryRequest>): Promise<UnaryResponse> => {
    const { call } = request;
    const reply = await impl(request.message, contextOf(request, call));
    return new LazyResponse(method, whole(method, reply), call);
  };
  const next = fold(innermost as AnyFn, options.interceptors);
  const answer = async (message: Message, call: Call): Promise<Answer> => {
    const response = (await next(new LazyRequest(method, message, call))) as UnaryResponse;
    if (response instanceof LazyResponse) return response;
    takeHeaders(call.responseHeader, response.header);
    takeHeaders(call.responseTrailer, response.trailer);
    return response;
  };
  const invoke: UnaryMethod["invoke"] = (message, call) => inTime(answer(message, call), call);
  return { kind: "unary", desc: method, options, invoke };
}

function bindStream({ method, impl }: Spec<"server_streaming">, options: RouterOptions): Method {
  const open = bindReplies(options, method, async (request) => {
    const message = await firstOf(request.message);
    return wholeOnes(method, impl(message, contextOf(request, request.call)));
  });
  const invoke: StreamMethod["invoke"] = (message, call) => lazily(() => open(only(message), call));
  return { kind: "server_streaming", desc: method, options, invoke };
}

function bindBidiStream({ method, impl }: Spec<"bidi_streaming">, options: RouterOptions): Method {
  const open = bindReplies(options, method, async (request) =>
    wholeOnes(method, impl(request.message, contextOf(request, request.call))),
  );
  const invoke: BidiStreamMethod["invoke"] = (messages, call) => lazily(() => open(messages, call));
  return { kind: "bidi_streaming", desc: method, options, invoke };
}

/** A stream of replies inside its interceptors. */
function bindReplies(
  { interceptors }: RouterOptions,
  method: DescMethodServerStreaming | DescMethodBiDiStreaming,
  handle: (request: Requested<StreamRequest>) => Promise<AsyncIterable<Message>>,
) {
  const innermost = async (request: Requested<StreamRequest>): Promise<StreamResponse> =>
    streamResponse(method, await handle(request), request.call);
  const next = fold(innermost as AnyFn, interceptors);
  return async (messages: AsyncIterable<Message>, call: Call): Promise<AsyncIterator<Message>> => {
    const response = (await next(streamRequest(method, messages, call))) as StreamResponse;
    takeHeaders(call.responseHeader, response.header);
    return withTrailer(response, call)[Symbol.asyncIterator]();
  };
}

function bindClientStream(
  { method, impl }: Spec<"client_streaming">,
  options: RouterOptions,
): Method {
  const innermost = async (request: Requested<StreamRequest>): Promise<StreamResponse> => {
    const { call } = request;
    const reply = await impl(request.message, contextOf(request, call));
    return streamResponse(method, only(whole(method, reply)), call);
  };
  const next = fold(innermost as AnyFn, options.interceptors);
  const answer = async (requests: AsyncIterable<Message>, call: Call): Promise<Answer> => {
    const response = (await next(streamRequest(method, requests, call))) as StreamResponse;
    takeHeaders(call.responseHeader, response.header);
    return { message: await firstOf(withTrailer(response, call)) };
  };
  const invoke: ClientStreamMethod["invoke"] = (requests, call) =>
    inTime(answer(requests, call), call);
  return { kind: "client_streaming", desc: method, options, invoke };
}

/** A request as interceptors see it. */
type Requested<R> = R & { readonly call: Call };

/**
 * Unary request whose members are created on first use. They are on the prototype: getters of an object
 * literal take 2 µs of the 20 of a call (docs/decisions/0014-one-way-through-http.md).
 */
class LazyRequest implements Requested<UnaryRequest> {
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

/** Request that an interceptor has copied: own members override those of the original. */
class CopiedRequest extends LazyRequest {}

/** A copy has own members only. */
function wholeRequest(request: UnaryRequest): UnaryRequest {
  if (request instanceof LazyRequest) return request;
  return Object.create(CopiedRequest.prototype, Object.getOwnPropertyDescriptors(request));
}

/** Unary response whose headers are created on first use. */
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

/** A copy has own members only. */
function wholeResponse(response: AnyResponse, call: Call): AnyResponse {
  if (response.stream || response instanceof LazyResponse) return response;
  const { header = call.responseHeader, trailer = call.responseTrailer } = response;
  return { ...response, header, trailer };
}

function streamRequest(
  method: DescMethodStreaming,
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
  method: DescMethodStreaming,
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

/** Handler context of a request, with the members that an interceptor has replaced. */
function contextOf(request: UnaryRequest | StreamRequest, call: Call): HandlerContext {
  // Reading a member that was not replaced would create it.
  const isKept = (name: "header" | "signal" | "contextValues", own: () => unknown): boolean =>
    !Object.hasOwn(request, name) || request[name] === own();
  const isOriginal =
    isKept("header", () => call.requestHeader) &&
    isKept("signal", () => call.signal) &&
    isKept("contextValues", () => call.values);
  if (isOriginal) return call;
  const { header, signal, contextValues } = request;
  return {
    method: call.method,
    service: call.service,
    requestMethod: call.requestMethod,
    protocolName: call.protocolName,
    url: call.url,
    timeoutMs: call.timeoutMs,
    requestHeader: header,
    signal,
    values: contextValues,
    get responseHeader() {
      return call.responseHeader;
    },
    get responseTrailer() {
      return call.responseTrailer;
    },
  };
}

type AnyResponse = UnaryResponse | StreamResponse;

/** The messages of a response; trailers that an interceptor has replaced are complete at the end. */
function withTrailer(response: StreamResponse, call: Call): AsyncIterable<Message> {
  const messages = response.message as AsyncIterable<Message>;
  const { trailer } = response;
  return trailer === call.responseTrailer ? messages : endingWith(messages, call, trailer);
}

async function* endingWith(
  messages: AsyncIterable<Message>,
  call: Call,
  trailer: Headers,
): AsyncIterable<Message> {
  yield* messages;
  takeHeaders(call.responseTrailer, trailer);
}

/** Gives a call the headers that an interceptor has replaced. */
function takeHeaders(headers: Headers, replaced: Headers): void {
  if (headers === replaced) return;
  for (const name of [...headers.keys()]) headers.delete(name);
  for (const [name, value] of replaced) headers.append(name, value);
}

/** Handlers may return the members alone. */
function whole({ output }: DescMethod, reply: MessageInitShape<DescMethod["output"]>): Message {
  return isMessage(reply) ? reply : create(output, reply);
}

/** An iterator: a generator would end only after the message for which it waits. */
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
function inTime<T>(reply: Promise<T>, call: Call): Promise<T> {
  if (!call.limited) return reply;
  const { signal } = call;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const end = (): void => reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  reply.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  return promise;
}

/** Next function of an interceptor. */
type AnyFn = ReturnType<Interceptor>;

/** Composes interceptors. */
function fold(innermost: AnyFn, interceptors: readonly Interceptor[] = []): AnyFn {
  return interceptors.reduceRight<AnyFn>((next, interceptor) => {
    const outer = interceptor(async (request) =>
      next(request.stream ? request : wholeRequest(request)),
    );
    return async (request) =>
      wholeResponse(await outer(request), (request as Requested<UnaryRequest>).call);
  }, innermost);
}
