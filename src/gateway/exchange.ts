import type { Message } from "@bufbuild/protobuf";
import type { Binding } from "./binding.ts";
import { createStreaming } from "./event-exchange.ts";
import { badRequest, type HttpFault, toRefusal } from "./fault.ts";
import { type GatewayOptions, tagPrefix } from "./gateway-options.ts";
import { captureVariables, type PathParts } from "./path-match.ts";
import { hasParameter, parseQuery, type Query } from "./query-string.ts";
import { announcesBody, checkJsonType, readBody } from "./request-body.ts";
import { createRequestMemory } from "./request-memory.ts";
import { createRequestMessage } from "./request-message.ts";
import type { Responder } from "./responder.ts";
import type { RestCall } from "./rest-call.ts";

/** A request's route. */
export interface Routed {
  /** Bindings of the path and HTTP method; at least one. */
  readonly bindings: readonly Binding[];
  readonly query: string;
  /** The path's segments, where the template may have variables. */
  readonly parts?: PathParts;
}

/** Carries requests to rpcs and replies back. */
export interface Exchange {
  serve(call: RestCall, routed: Routed): void;
  /** Refuses a request that no binding takes. */
  refuse(call: RestCall, fault: HttpFault): void;
  /** Answers OPTIONS. */
  options(call: RestCall, allow: string): void;
}

/** Largest request body where nothing else is said, in bytes. */
const BODY_LIMIT = 1_048_576;

/** Makes the exchange of a gateway. */
export function createExchange(options: GatewayOptions, responder: Responder): Exchange {
  const limit = options.bodyLimit ?? BODY_LIMIT;
  const prefix = tagPrefix(options);
  const stream = createStreaming(options, responder);
  const remembered = createRequestMemory();
  const refuse = async (call: RestCall, binding: Binding | undefined, error: unknown) => {
    const answer = await admitted(options, call, binding, error);
    const refusal = toRefusal(answer);
    if (binding && refusal) options.refused?.(refusal, binding.method.desc, call);
    responder.fail(call, answer, binding);
  };
  const answer = (call: RestCall, binding: Binding, message: Message): void | Promise<void> => {
    const { method } = binding;
    if (method.kind !== "unary") return stream(call, binding, method, message);
    const reply = method.invoke(message, call);
    if (!(reply instanceof Promise)) return responder.succeed(call, binding, reply);
    return reply.then((settled) => responder.succeed(call, binding, settled));
  };
  const serveMessage = (call: RestCall, binding: Binding, message: Message): void => {
    const fail = (error: unknown): void => responder.fail(call, error, binding);
    try {
      answer(call, binding, message)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
  /** Without a promise where there is nothing to wait for: most requests are reads without a body. */
  const serve = (call: RestCall, routed: Routed): void => {
    let binding = routed.bindings[0];
    let message: Message;
    try {
      const hasBody = announcesBody(call.request);
      const known = hasBody ? undefined : remembered.find(routed);
      if (known) {
        serveMessage(call, known.binding, known.message);
        return;
      }
      const query = needsQuery(routed) ? parseQuery(routed.query) : [];
      binding = chooseBinding(routed.bindings, query);
      if (hasBody) {
        void serveBody(call, routed, binding, query);
        return;
      }
      message = messageOf(call, routed, binding, query, NO_BODY);
      remembered.keep(routed, binding, message);
    } catch (error) {
      void refuse(call, binding, error);
      return;
    }
    serveMessage(call, binding, message);
  };
  const serveBody = async (call: RestCall, routed: Routed, binding: Binding, query: Query) => {
    let message: Message;
    try {
      const body = await takeBody(call, binding, limit);
      message = messageOf(call, routed, binding, query, body);
    } catch (error) {
      await refuse(call, binding, error);
      return;
    }
    serveMessage(call, binding, message);
  };
  const messageOf = (
    call: RestCall,
    routed: Routed,
    binding: Binding,
    query: Query,
    body: Buffer,
  ): Message => {
    const path = routed.parts ? captureVariables(binding.template, routed.parts) : NO_PATH;
    return createRequestMessage(binding.request, { path, query, body, header: call }, prefix);
  };
  return {
    serve,
    refuse: (call, fault) => responder.fail(call, fault),
    options: (call, allow) => {
      const headers = ["Allow", allow, ...responder.vary, ...responder.headers(call)];
      call.response.writeHead(204, headers).end();
    },
  };
}

const NO_BODY = Buffer.alloc(0);

const NO_PATH: readonly string[] = [];

function needsQuery({ query, bindings }: Routed): boolean {
  if (query === "") return false;
  if (bindings.length > 1) return true;
  const rule = bindings[0]?.request;
  return rule?.query !== undefined || (rule?.requireQuery.length ?? 0) > 0;
}

function chooseBinding(bindings: readonly Binding[], query: Query): Binding {
  const chosen = bindings.find(({ request }) => {
    const { requireQuery } = request;
    return requireQuery.length === 0 || requireQuery.some((name) => hasParameter(query, name));
  });
  if (chosen) return chosen;
  const names = [...new Set(bindings.flatMap(({ request }) => request.requireQuery))];
  const kind = names.length === 1 ? "the query parameter" : "one of the query parameters";
  throw badRequest(`give ${kind} ${names.join(", ")}`);
}

async function takeBody(call: RestCall, binding: Binding, limit: number): Promise<Buffer> {
  const body = await readBody(call.request, limit);
  if (binding.request.body.kind === "none" || body.length === 0) return NO_BODY;
  checkJsonType(call.request);
  return body;
}

/** The error to answer: the gateway's own, unless the client may not even know that. */
async function admitted(
  options: GatewayOptions,
  call: RestCall,
  binding: Binding | undefined,
  error: unknown,
): Promise<unknown> {
  if (binding === undefined) return error;
  try {
    await options.admit?.(binding.method.desc, call);
    return error;
  } catch (refusal) {
    return refusal;
  }
}
