import type { Item, KindRules } from "./kind.ts";

/** Items of a chunk: a change copies one chunk and the list of chunks instead of all items. */
const CHUNK = 64;
/** Maximum number of slots of deleted items, in addition to the number of items. */
const SPARE = 1_024;

type Chunk<I> = readonly (I | undefined)[] | undefined;

/** Change of a view: an item after the change, or undefined for a deleted key. */
export type ViewChange<I> = readonly [key: string, item: I | undefined];

/**
 * Items of one kind at one revision, in the order in which they were added. Immutable: a change
 * creates a new view that shares all unchanged chunks, so that its cost depends on its size.
 */
export interface View<I extends Item> {
  readonly size: number;
  /** Highest position of an item; 0 when there is none. */
  readonly lastPosition: number;
  get(key: string): I | undefined;
  /** Position of an item in a list, from 0, with gaps for deleted items; -1: none. */
  indexOf(key: string): number;
  items(): Iterable<I>;
  keys(): Iterable<string>;
  with(changes: Iterable<ViewChange<I>>): View<I>;
}

/** Creates a view from items in their order. */
export function createView<I extends Item>(
  rules: Pick<KindRules<I>, "keyOf" | "positionOf">,
  items: Iterable<I>,
): View<I> {
  const slots = new Map<string, number>();
  const flat: I[] = [];
  for (const item of items) {
    slots.set(rules.keyOf(item), flat.length);
    flat.push(item);
  }
  const chunks: Chunk<I>[] = [];
  for (let at = 0; at < flat.length; at += CHUNK) chunks.push(flat.slice(at, at + CHUNK));
  return new ChunkedView({
    rules,
    size: flat.length,
    lastPosition: flat.reduce((last, item) => Math.max(last, rules.positionOf(item)), 0),
    slotCount: flat.length,
    slots,
    chunks,
  });
}

interface State<I extends Item> {
  readonly rules: Pick<KindRules<I>, "keyOf" | "positionOf">;
  readonly size: number;
  readonly lastPosition: number;
  readonly slotCount: number;
  /** Key to slot, shared by all views of a process: slots are only ever added. */
  readonly slots: Map<string, number>;
  readonly chunks: readonly Chunk<I>[];
}

class ChunkedView<I extends Item> implements View<I> {
  readonly size: number;
  readonly lastPosition: number;
  readonly #rules: State<I>["rules"];
  readonly #slotCount: number;
  readonly #slots: Map<string, number>;
  readonly #chunks: readonly Chunk<I>[];

  constructor(state: State<I>) {
    this.size = state.size;
    this.lastPosition = state.lastPosition;
    this.#rules = state.rules;
    this.#slotCount = state.slotCount;
    this.#slots = state.slots;
    this.#chunks = state.chunks;
  }

  get(key: string): I | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined || slot >= this.#slotCount) return undefined;
    return this.#chunks[Math.floor(slot / CHUNK)]?.[slot % CHUNK];
  }

  indexOf(key: string): number {
    return this.#slots.get(key) ?? -1;
  }

  *items(): Iterable<I> {
    for (const chunk of this.#chunks)
      for (const item of chunk ?? []) if (item !== undefined) yield item;
  }

  *keys(): Iterable<string> {
    for (const item of this.items()) yield this.#rules.keyOf(item);
  }

  with(changes: Iterable<ViewChange<I>>): View<I> {
    const chunks = [...this.#chunks];
    const copied = new Set<number>();
    let { size, lastPosition } = this;
    let slotCount = this.#slotCount;
    for (const [key, item] of changes) {
      let slot = this.#slots.get(key);
      if (slot === undefined) {
        if (item === undefined) continue;
        slot = this.#slots.size;
        this.#slots.set(key, slot);
      }
      slotCount = Math.max(slotCount, slot + 1);
      const at = Math.floor(slot / CHUNK);
      const before = chunks[at]?.[slot % CHUNK];
      size += (item === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
      if (!copied.has(at)) {
        chunks[at] = [...(chunks[at] ?? [])];
        copied.add(at);
      }
      (chunks[at] as (I | undefined)[])[slot % CHUNK] = item;
      if (item !== undefined) lastPosition = Math.max(lastPosition, this.#rules.positionOf(item));
    }
    const next = new ChunkedView({
      rules: this.#rules,
      size,
      lastPosition,
      slotCount,
      slots: this.#slots,
      chunks,
    });
    // Keys of deleted items keep their slots, and clients choose keys.
    return this.#slots.size > 2 * size + SPARE ? createView(this.#rules, next.items()) : next;
  }
}
