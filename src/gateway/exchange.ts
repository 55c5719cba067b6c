import type { Message } from "@bufbuild/protobuf";
import type { Binding } from "./binding.ts";
import { createStreaming } from "./event-exchange.ts";
import { badRequest, type HttpFault, toRefusal } from "./fault.ts";
import { type GatewayOptions, tagPrefix } from "./gateway-options.ts";
import { captureVariables, type PathParts } from "./path-match.ts";
import { hasParameter, parseQuery, type Query } from "./query-string.ts";
import { announcesBody, checkJsonType, readBody } from "./request-body.ts";
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
  const serve = async (call: RestCall, routed: Routed): Promise<void> => {
    let binding = routed.bindings[0];
    let message: Message;
    try {
      const query = needsQuery(routed) ? parseQuery(routed.query) : [];
      binding = chooseBinding(routed.bindings, query);
      const body = announcesBody(call.request) ? await takeBody(call, binding, limit) : NO_BODY;
      const path = routed.parts ? captureVariables(binding.template, routed.parts) : NO_PATH;
      const parts = { path, query, body, header: call };
      message = createRequestMessage(binding.request, parts, prefix);
    } catch (error) {
      const answer = await admitted(options, call, binding, error);
      const refusal = toRefusal(answer);
      if (binding && refusal) options.refused?.(refusal, binding.method.desc, call);
      responder.fail(call, answer, binding);
      return;
    }
    try {
      const { method } = binding;
      if (method.kind === "unary") {
        const sending = responder.succeed(call, binding, await method.invoke(message, call));
        if (sending) await sending;
      } else {
        await stream(call, binding, method, message);
      }
    } catch (error) {
      responder.fail(call, error, binding);
    }
  };
  return {
    serve: (call, routed) => void serve(call, routed),
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
