import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { type ItemCodec, isPublic, type SettingItem } from "../settings/item.ts";
import type { StoredState } from "./store.ts";

/** Items of a chunk: a change copies one chunk and the list of chunks instead of all items. */
const CHUNK = 64;
/** Maximum number of slots of deleted settings, in addition to the number of settings. */
const SPARE = 1_024;

type Chunk = readonly (SettingItem | undefined)[] | undefined;

/** Change of a snapshot: an item after the change, or undefined for a deleted key. */
export type ItemChange = readonly [key: string, item: SettingItem | undefined];

/**
 * All settings at one revision, in the order of their definitions, custom ones last. Immutable: a
 * commit creates a new snapshot that shares all unchanged chunks, so that the cost of a save
 * depends on the size of the change.
 */
export interface Snapshot {
  readonly revision: number;
  /** Mark of the revision; empty: it has none, or there is no revision. */
  readonly mark: string;
  /** Number of settings. */
  readonly size: number;
  /** Highest position of a custom setting; 0 when there is none. */
  readonly lastPosition: number;
  /** Number and bytes of the settings. */
  readonly totals: SettingTotals;
  /** Returns a setting; mounts are not included. */
  get(key: string): SettingItem | undefined;
  /** Mounts and their secret items, by key. */
  readonly mounts: ReadonlyMap<string, SettingItem>;
  /** Position of the item in a list, from 0, with gaps for deleted settings. */
  indexOf(key: string): number;
  items(): Iterable<SettingItem>;
  /**
   * Returns the snapshot after changes.
   *
   * @param mark of the revision. Default: that of this snapshot.
   */
  with(revision: number, changes: Iterable<ItemChange>, mark?: string): Snapshot;
}

/** Creates a snapshot without an earlier one from settings in list order and mounts in any order. */
export function createSnapshot(
  revision: number,
  items: Iterable<SettingItem>,
  mountItems: Iterable<SettingItem> = [],
  mark = "",
): Snapshot {
  const slots = new Map<string, number>();
  const flat: SettingItem[] = [];
  for (const item of items) {
    slots.set(item.key, flat.length);
    flat.push(item);
  }
  const lastPosition = flat.reduce((last, item) => Math.max(last, item.position), 0);
  const mounts = new Map([...mountItems].map((item) => [item.key, item]));
  const totals = [...flat, ...mounts.values()].reduce(
    (sum, item) => replaceIn(sum, undefined, item),
    NO_TOTALS,
  );
  const chunks: Chunk[] = [];
  for (let at = 0; at < flat.length; at += CHUNK) chunks.push(flat.slice(at, at + CHUNK));
  return new ChunkedSnapshot({
    revision,
    mark,
    size: flat.length,
    lastPosition,
    totals,
    slotCount: flat.length,
    slots,
    chunks,
    mounts,
  });
}

/**
 * Creates the first snapshot of a process, or the one after the database was replaced, from stored
 * rows: known settings without a row have their defaults.
 */
export function restoreSnapshot(
  { revision, mark, settings }: StoredState,
  definitions: readonly SettingDefinition[],
  { fromStored, absent }: Pick<ItemCodec, "fromStored" | "absent">,
): Snapshot {
  const stored = new Map(settings.map((row) => [row.key, row]));
  const known = definitions.map(({ key }) => {
    const row = stored.get(key);
    return row === undefined ? absent(key) : fromStored(row);
  });
  const keys = new Set(definitions.map(({ key }) => key));
  const others = settings.filter((row) => !keys.has(row.key)).map(fromStored);
  const items = [...known, ...others].filter((item) => item !== undefined);
  return createSnapshot(
    revision,
    items.filter(({ origin }) => origin !== "mount"),
    items.filter(({ origin }) => origin === "mount"),
    mark,
  );
}

interface State {
  readonly revision: number;
  readonly mark: string;
  readonly size: number;
  readonly lastPosition: number;
  readonly totals: SettingTotals;
  readonly slotCount: number;
  /** Key to slot, shared by all snapshots of a process: slots are only ever added. */
  readonly slots: Map<string, number>;
  readonly chunks: readonly Chunk[];
  readonly mounts: ReadonlyMap<string, SettingItem>;
}

class ChunkedSnapshot implements Snapshot {
  readonly revision: number;
  readonly mark: string;
  readonly size: number;
  readonly lastPosition: number;
  readonly totals: SettingTotals;
  readonly mounts: ReadonlyMap<string, SettingItem>;
  readonly #slotCount: number;
  readonly #slots: Map<string, number>;
  readonly #chunks: readonly Chunk[];

  constructor(state: State) {
    this.revision = state.revision;
    this.mark = state.mark;
    this.size = state.size;
    this.lastPosition = state.lastPosition;
    this.totals = state.totals;
    this.mounts = state.mounts;
    this.#slotCount = state.slotCount;
    this.#slots = state.slots;
    this.#chunks = state.chunks;
  }

  get(key: string): SettingItem | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined || slot >= this.#slotCount) return undefined;
    return this.#chunks[Math.floor(slot / CHUNK)]?.[slot % CHUNK];
  }

  indexOf(key: string): number {
    return this.#slots.get(key) ?? -1;
  }

  *items(): Iterable<SettingItem> {
    for (const chunk of this.#chunks)
      for (const item of chunk ?? []) if (item !== undefined) yield item;
  }

  with(revision: number, changes: Iterable<ItemChange>, mark = this.mark): Snapshot {
    const chunks = [...this.#chunks];
    const copied = new Set<number>();
    let { size, lastPosition, totals } = this;
    let slotCount = this.#slotCount;
    let mounts: Map<string, SettingItem> | undefined;
    for (const [key, item] of changes) {
      const mount = (mounts ?? this.mounts).get(key);
      if (mount !== undefined || item?.origin === "mount") {
        mounts ??= new Map(this.mounts);
        totals = replaceIn(totals, mount, item);
        if (item === undefined) mounts.delete(key);
        else mounts.set(key, item);
        continue;
      }
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
      totals = replaceIn(totals, before, item);
      if (!copied.has(at)) {
        chunks[at] = [...(chunks[at] ?? [])];
        copied.add(at);
      }
      (chunks[at] as (SettingItem | undefined)[])[slot % CHUNK] = item;
      lastPosition = Math.max(lastPosition, item?.position ?? 0);
    }
    const next = new ChunkedSnapshot({
      revision,
      mark,
      size,
      lastPosition,
      totals,
      slotCount,
      slots: this.#slots,
      chunks,
      mounts: mounts ?? this.mounts,
    });
    // Keys of deleted settings keep their slots, and clients choose keys.
    return this.#slots.size > 2 * size + SPARE
      ? createSnapshot(revision, next.items(), next.mounts.values(), mark)
      : next;
  }
}

/** Bounds of all settings together. */
export interface SettingLimits {
  /** Number of custom settings. */
  readonly custom: number;
  /** UTF-8 bytes of all settings: keys, values, and definitions of custom settings. */
  readonly bytes: number;
  /** Bytes of the settings that can be read without a token. */
  readonly publicBytes: number;
}

/** Totals of all settings of a snapshot, in the members of {@link SettingLimits}. */
export type SettingTotals = SettingLimits;

const NO_TOTALS: SettingTotals = { custom: 0, bytes: 0, publicBytes: 0 };

/** No bounds. */
export const NO_LIMITS: SettingLimits = {
  custom: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
  publicBytes: Number.POSITIVE_INFINITY,
};

/** UTF-8 bytes of a setting. The texts of known settings are the program's and do not count. */
function bytesOf(item: SettingItem | undefined): number {
  if (item === undefined) return 0;
  const { key, value, help, options, definition } = item;
  const own = Buffer.byteLength(key) + Buffer.byteLength(value);
  if (definition !== undefined) return own;
  return own + Buffer.byteLength(help) + Buffer.byteLength(options);
}

/** Totals after a setting was replaced; undefined is a setting that does not exist. */
export function replaceIn(
  { custom, bytes, publicBytes }: SettingTotals,
  before: SettingItem | undefined,
  after: SettingItem | undefined,
): SettingTotals {
  const [old, next] = [bytesOf(before), bytesOf(after)];
  return {
    custom: custom + Number(after?.origin === "custom") - Number(before?.origin === "custom"),
    bytes: bytes + next - old,
    publicBytes:
      publicBytes + (after && isPublic(after) ? next : 0) - (before && isPublic(before) ? old : 0),
  };
}

/**
 * Rejects a change that increases a total above its limit. A total that exceeds its limit already
 * may be reduced.
 *
 * @param share of the limits that the caller may fill. Default: all.
 * @throws RESOURCE_EXHAUSTED.
 */
export function checkTotals(
  before: SettingTotals,
  after: SettingTotals,
  limits: SettingLimits,
  share = 1,
): void {
  const shared = {
    custom: limits.custom * share,
    bytes: limits.bytes * share,
    publicBytes: limits.publicBytes * share,
  };
  // Without the totals: the caller may not see all settings.
  for (const name of share < 1 ? TOTALS : [])
    if (isBeyond(name, before, after, shared))
      throw exhausted(message("SPACE_SHARE_EXHAUSTED", { percent: Math.round(share * 100) }));
  if (isBeyond("custom", before, after, limits))
    throw exhausted(
      message("TOO_MANY_CUSTOM_SETTINGS", { count: after.custom, most: limits.custom }),
    );
  if (isBeyond("bytes", before, after, limits))
    throw exhausted(message("SETTINGS_TOO_LARGE", { count: after.bytes, most: limits.bytes }));
  if (isBeyond("publicBytes", before, after, limits))
    throw exhausted(
      message("PUBLIC_SETTINGS_TOO_LARGE", { count: after.publicBytes, most: limits.publicBytes }),
    );
}

const TOTALS = ["custom", "bytes", "publicBytes"] as const;

function isBeyond(
  name: keyof SettingTotals,
  before: SettingTotals,
  after: SettingTotals,
  limits: SettingLimits,
): boolean {
  return after[name] > limits[name] && after[name] > before[name];
}

function exhausted(text: Message): ServiceError {
  return new ServiceError(Code.ResourceExhausted, text);
}
