import { openSync, readSync, realpathSync } from "node:fs";

/**
 * Bytes of the header that every commit of every connection changes: a counter of transactions and a
 * checksum are among them (SQLite, "WAL-mode File Format", section 2.1).
 */
const HEADER_LENGTH = 48;

/**
 * Notices that nothing was committed to a database, by anybody, for a third of what it costs to ask
 * SQLite: a process asks at each call that carries a token.
 */
export interface WalIndex {
  /** Reads the header. @returns whether it is the one that was kept. */
  isKept(): boolean;
  /** Keeps the header that was read last. */
  keep(): void;
}

/**
 * Opens the shared index of a database's write-ahead log. It is never closed: that would take away
 * the locks that SQLite holds on the file in this process
 * (https://sqlite.org/howtocorrupt.html, section 2.2).
 *
 * @param path of a database that is open in WAL mode.
 * @returns undefined for a database without such a file, as one in memory.
 */
export function openWalIndex(path: string): WalIndex | undefined {
  if (path === ":memory:") return undefined;
  let file: number;
  try {
    file = openSync(`${realpathSync(path)}-shm`, "r");
  } catch {
    return undefined;
  }
  const read = new Uint32Array(HEADER_LENGTH / Uint32Array.BYTES_PER_ELEMENT);
  const kept = new Uint32Array(read.length);
  return {
    isKept: () => {
      try {
        if (readSync(file, read, 0, HEADER_LENGTH, 0) < HEADER_LENGTH) return false;
      } catch {
        return false;
      }
      // A header that is being written is like none that was kept.
      return read.every((word, at) => word === kept[at]);
    },
    keep: () => kept.set(read),
  };
}
