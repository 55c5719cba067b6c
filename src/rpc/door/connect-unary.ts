import type { IncomingMessage, ServerResponse } from "node:http";
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  contentTypeUnaryJson,
  contentTypeUnaryProto,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { toConnectError } from "../error.ts";
import type { Method, UnaryMethod } from "../method.ts";
import { ConnectCall } from "./connect-call.ts";
import { type ConnectFormat, type ConnectVariant, createConnectFormat } from "./connect-format.ts";
import { connectLimits, jsonOptions } from "./connect-limit.ts";
import { readBody, tooLarge } from "./request-body.ts";
import { unaryMethods } from "./unary-path.ts";

/** Serves plain unary calls of Connect. */
export interface ConnectUnary {
  /**
   * Takes a request that is plain: a POST to a unary method, neither compressed nor with a time limit.
   *
   * @returns false for anything else: nothing was done, the library serves it.
   */
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): boolean;
}

export interface ConnectUnaryDeps {
  readonly methods: readonly Method[];
  /** Headers of every reply to a client of this Origin, names and values by turns. */
  readonly headers: (origin: string | undefined) => readonly string[];
}

/**
 * Makes the short way of unary calls. The library makes web-standard requests, headers and streams of
 * what Node has, and encodes every reply anew: five times the cost of a read. Replies are the same.
 */
export function createConnectUnary({ methods, headers }: ConnectUnaryDeps): ConnectUnary {
  const routes = new Map(
    [...unaryMethods(methods)].map(([path, method]) => [path, { method, ...formatsOf(method) }]),
  );
  return {
    handle: (request, response, requestId) => {
      if (request.method !== "POST" || !isPlain(request)) return false;
      const route = routes.get(request.url ?? "");
      const format = route?.formats.get(request.headers["content-type"] ?? "");
      if (route === undefined || format === undefined) return false;
      const call = new ConnectCall(request, response, requestId);
      serve(route.method, format, {
        request,
        call,
        send: (status, variant) => {
          if (response.headersSent) return;
          const common = ["X-Request-Id", requestId, ...headers(request.headers.origin)];
          response.writeHead(status, variant.headers.concat(common)).end(variant.body, "latin1");
        },
      });
      return true;
    },
  };
}

function formatsOf({ desc }: UnaryMethod): {
  readonly formats: ReadonlyMap<string, ConnectFormat>;
} {
  const types = [contentTypeUnaryJson, contentTypeUnaryProto];
  return { formats: new Map(types.map((type) => [type, createConnectFormat(desc, type)])) };
}

function isPlain({ headers }: IncomingMessage): boolean {
  return headers["content-encoding"] === undefined && headers["connect-timeout-ms"] === undefined;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly call: ConnectCall;
  send(status: number, variant: ConnectVariant): void;
}

function serve({ invoke }: UnaryMethod, format: ConnectFormat, exchange: Exchange): void {
  const { request, call, send } = exchange;
  const accepted = request.headers["accept-encoding"] as string | undefined;
  const fail = (error: unknown): void => send(...failure(toConnectError(error)));
  const encode = (message: Message): void | Promise<void> => {
    const variant = format.encode(message, accepted);
    if (!(variant instanceof Promise)) return send(OK, variant);
    return variant.then((coded) => send(OK, coded));
  };
  readBody(request, connectLimits.readMaxBytes, {
    refuse: () => fail(tooLarge(connectLimits.readMaxBytes)),
    take: (body) => {
      try {
        const reply = invoke(format.parse(body), call);
        const sending = reply instanceof Promise ? reply.then(encode) : encode(reply);
        sending?.catch(fail);
      } catch (error) {
        fail(error);
      }
    },
  });
}

const OK = 200;

/** Connect protocol, "Unary-Response": an error is JSON, whatever the request was. */
function failure(error: ConnectError): [status: number, variant: ConnectVariant] {
  const body = errorToJsonBytes(error, jsonOptions);
  const own = ["Content-Type", contentTypeUnaryJson, "Content-Length", String(body.length)];
  const { metadata } = error;
  return [codeToHttpStatus(error.code), { headers: [...own, ...[...metadata].flat()], body }];
}
