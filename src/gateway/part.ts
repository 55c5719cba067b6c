import type { Message } from "@bufbuild/protobuf";

const parts = new WeakMap<Message, string>();

/**
 * Says that a reply shows a part of its state only, because its caller may not see all of it.
 *
 * @param part names what is shown: equal for equal parts. Empty: all of it.
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
