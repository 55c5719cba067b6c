import type { Message } from "@bufbuild/protobuf";
import type { Binding } from "./binding.ts";
import type { Routed } from "./exchange.ts";

/** What a request without a body came to. */
export interface KnownRequest {
  readonly binding: Binding;
  readonly message: Message;
}

/**
 * Remembers what requests of reads without a body came to: clients ask the same thing again and again,
 * and to read a query costs more than all the rest of the gateway. Services leave their requests as
 * they are.
 */
export interface RequestMemory {
  find(routed: Routed): KnownRequest | undefined;
  keep(routed: Routed, binding: Binding, message: Message): void;
}

/** Queries remembered for each path, the newest ones, and the longest of them, in characters. */
const MAX_KEPT = 256;
const MAX_LENGTH = 128;

/** Makes the memory of a gateway. */
export function createRequestMemory(): RequestMemory {
  const paths = new Map<Routed["bindings"], Map<string, KnownRequest>>();
  return {
    find: ({ bindings, query, parts }) =>
      parts === undefined ? paths.get(bindings)?.get(query) : undefined,
    keep: ({ bindings, query, parts }, binding, message) => {
      const { ifMatch, lastEventId } = binding.request;
      if (parts || ifMatch || lastEventId || query.length > MAX_LENGTH) return;
      // What changes something may hold a secret, and is not asked again.
      if (!binding.reply.kept) return;
      let known = paths.get(bindings);
      if (known === undefined) {
        known = new Map();
        paths.set(bindings, known);
      }
      known.set(query, { binding, message });
      const [oldest] = known.size > MAX_KEPT ? known.keys() : [];
      if (oldest !== undefined) known.delete(oldest);
    },
  };
}
