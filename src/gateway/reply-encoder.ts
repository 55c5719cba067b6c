import type { Message } from "@bufbuild/protobuf";
import type { Binding } from "./binding.ts";
import { type EncodedReply, encodeReply } from "./encoded-reply.ts";
import { type GatewayOptions, tagPrefix } from "./gateway-options.ts";

/** The Cache-Control of what must not be kept anywhere. */
export const NO_STORE = "no-store";

/** Gives a binding's reply in bytes; a promise where it takes several turns of the event loop. */
export type Encoder = (binding: Binding, message: Message) => EncodedReply | Promise<EncodedReply>;

/**
 * Makes an encoder that keeps the replies of rpcs that only read, as long as their message lives: a
 * service gives the same message while its state stands, and a new state is a new message.
 */
export function createEncoder(options: GatewayOptions): Encoder {
  const kept = new Map<Binding, WeakMap<Message, ReturnType<Encoder>>>();
  const encode = createPlainEncoder(options);
  return (binding, message) => {
    if (!binding.reply.kept) return encode(binding, message);
    let replies = kept.get(binding);
    if (replies === undefined) {
      replies = new WeakMap();
      kept.set(binding, replies);
    }
    const known = replies.get(message);
    if (known !== undefined) return known;
    const reply = encode(binding, message);
    replies.set(message, reply);
    if (reply instanceof Promise) settle(replies, message, reply);
    return reply;
  };
}

function createPlainEncoder(options: GatewayOptions): Encoder {
  const prefix = tagPrefix(options);
  const variesByOrigin = options.cors?.varies ?? false;
  return (binding, message) => {
    const { reply } = binding;
    const cacheControl = readCacheControl(options, binding);
    return encodeReply({ reply, cacheControl, prefix, variesByOrigin }, message);
  };
}

/** Replaces a kept promise by what it gives; one that fails is given up, not kept. */
function settle(
  replies: WeakMap<Message, ReturnType<Encoder>>,
  message: Message,
  reply: Promise<EncodedReply>,
): void {
  reply.then(
    (encoded) => replies.set(message, encoded),
    () => replies.delete(message),
  );
}

function readCacheControl(options: GatewayOptions, binding: Binding): string {
  if (!binding.reply.kept) return NO_STORE;
  return options.cacheControl?.(binding.method.desc) ?? "private, no-store";
}
