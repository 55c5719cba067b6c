// The service of the conformance suite. Its messages are generated when the tests run, so the
// members used are declared here.
import { setTimeout as sleep } from "node:timers/promises";
import {
  create,
  createRegistry,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type Registry,
} from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import {
  type Code,
  ConnectError,
  type ConnectRouter,
  type HandlerContext,
} from "@connectrpc/connect";

interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

interface WantedError {
  readonly code: Code;
  readonly message?: string;
  readonly details: readonly Any[];
}

/** The response definition of a request. */
interface Definition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
}

interface UnaryDefinition extends Definition {
  readonly response:
    | { readonly case: "responseData"; readonly value: Uint8Array }
    | { readonly case: "error"; readonly value: WantedError }
    | { readonly case: undefined; readonly value?: undefined };
}

interface StreamDefinition extends Definition {
  readonly responseData: readonly Uint8Array[];
  readonly error?: WantedError;
}

type Wanting<D> = Message & { readonly responseDefinition?: D };

const built = new URL("build/gen/connectrpc/conformance/v1/service_pb.js", import.meta.url);
const { ConformanceService } = (await import(built.href)) as { ConformanceService: DescService };

/** Types for google.protobuf.Any in JSON. */
export const registry: Registry = createRegistry(ConformanceService.file);

const infoDesc = registry.getMessage(
  "connectrpc.conformance.v1.ConformancePayload.RequestInfo",
) as DescMessage;

/** The methods whose request is one message, except the one that must be unknown. */
export function conformanceRoutes(router: ConnectRouter): void {
  const method = (name: string) =>
    ConformanceService.methods.find((one) => one.name === name) as DescMethodUnary;
  for (const name of ["Unary", "IdempotentUnary"])
    router.rpc(method(name), async (request, context) => ({
      payload: await answer(request as Wanting<UnaryDefinition>, context),
    }));
  const stream = method("ServerStream") as unknown as DescMethodServerStreaming;
  router.rpc(stream, (request, context) => answers(request as Wanting<StreamDefinition>, context));
}

async function answer(
  request: Wanting<UnaryDefinition>,
  context: HandlerContext,
): Promise<Record<string, unknown>> {
  const { responseDefinition: definition } = request;
  const requestInfo = infoOf(request, context);
  if (definition === undefined) return { requestInfo };
  await sleep(definition.responseDelayMs);
  setHeaders(definition, context);
  const { response } = definition;
  if (response.case === "error") throw errorOf(response.value, requestInfo);
  return { requestInfo, data: response.value ?? new Uint8Array() };
}

async function* answers(
  request: Wanting<StreamDefinition>,
  context: HandlerContext,
): AsyncIterable<Record<string, unknown>> {
  const { responseDefinition: definition } = request;
  if (definition === undefined) return;
  setHeaders(definition, context);
  const requestInfo = infoOf(request, context);
  for (const [index, data] of definition.responseData.entries()) {
    await sleep(definition.responseDelayMs);
    yield { payload: index === 0 ? { requestInfo, data } : { data } };
  }
  const { error } = definition;
  if (error !== undefined)
    throw errorOf(error, definition.responseData.length === 0 ? requestInfo : undefined);
}

function setHeaders({ responseHeaders, responseTrailers }: Definition, context: HandlerContext) {
  for (const { name, value } of responseHeaders)
    for (const one of value) context.responseHeader.append(name, one);
  for (const { name, value } of responseTrailers)
    for (const one of value) context.responseTrailer.append(name, one);
}

function infoOf(request: Message, context: HandlerContext): Message {
  const timeout = context.timeoutMs();
  return create(infoDesc, {
    requestHeaders: headersOf(context.requestHeader),
    requests: [anyPack(registry.getMessage(request.$typeName) as DescMessage, request)],
    ...(timeout === undefined ? {} : { timeoutMs: BigInt(Math.round(timeout)) }),
    ...(context.requestMethod === "GET"
      ? { connectGetInfo: { queryParams: headersOf(new URL(context.url).searchParams) } }
      : {}),
  });
}

function headersOf(all: Iterable<[string, string]>): Header[] {
  return [...all].map(([name, value]) => ({ name, value: [value] }));
}

function errorOf({ code, message = "", details }: WantedError, info?: Message): ConnectError {
  const error = new ConnectError(message, code);
  error.details = [
    ...details.map(({ typeUrl, value }) => ({ type: typeUrl.replace(/^.*\//, ""), value })),
    ...(info === undefined
      ? []
      : [{ desc: infoDesc, value: info as MessageInitShape<DescMessage> }]),
  ];
  return error;
}
