import type { Message } from "@bufbuild/protobuf";
import type { StreamMethod } from "../rpc/method.ts";
import type { Binding } from "./binding.ts";
import { createEventEncoder, createEventStreams, errorEvent } from "./event-stream.ts";
import { failureEnvelope } from "./failure.ts";
import { type GatewayOptions, tagPrefix } from "./gateway-options.ts";
import { NO_STORE } from "./reply-encoder.ts";
import type { Responder } from "./responder.ts";
import type { RestCall } from "./rest-call.ts";

/**
 * Calls a stream and sends its messages as events. HEAD gets the headers and starts nothing.
 *
 * @throws what the stream throws before anything was sent; later it ends with an error event.
 */
export type Streaming = (
  call: RestCall,
  binding: Binding,
  method: StreamMethod,
  message: Message,
) => Promise<void>;

/** Makes the streaming of a gateway. */
export function createStreaming(options: GatewayOptions, responder: Responder): Streaming {
  const streams = createEventStreams(options.events);
  const encoders = new Map<Binding, (message: Message) => Buffer>();
  const encoderOf = (binding: Binding): ((message: Message) => Buffer) => {
    const known = encoders.get(binding);
    const encoder = known ?? createEventEncoder(binding.reply, tagPrefix(options));
    if (!known) encoders.set(binding, encoder);
    return encoder;
  };
  return async (call, binding, method, message) => {
    const { response, request } = call;
    const headers = [...EVENT_HEADERS, ...responder.vary, ...responder.headers(call)];
    if (request.method === "HEAD") {
      response.writeHead(200, headers).end();
      return;
    }
    const messages = method.invoke(message, call);
    try {
      await streams.send({ headers, messages, encode: encoderOf(binding) }, response);
    } catch (error) {
      if (!response.headersSent) throw error;
      response.end(errorEvent(failureEnvelope(responder.describe(call, error))));
    }
  };
}

// Proxies that collect replies (nginx) pass an event on only when they are told so.
const EVENT_HEADERS = [
  "Content-Type",
  "text/event-stream",
  "Cache-Control",
  NO_STORE,
  "X-Accel-Buffering",
  "no",
];
