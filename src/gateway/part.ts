import type { Message } from "@bufbuild/protobuf";

const parts = new WeakMap<Message, string>();

/**
 * Marks a reply that shows only a part of its state, because of the caller's rights.
 *
 * @param part key of the shown part. Empty: all of it.
 * @returns the reply.
 */
export function asPart<M extends Message>(reply: M, part: string): M {
  if (part !== "") parts.set(reply, part);
  return reply;
}

/** The part of its state that a reply shows; undefined: all of it. */
export function partOf(reply: Message): string | undefined {
  return parts.get(reply);
}
