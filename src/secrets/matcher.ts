/** Finds any of many byte strings in one pass (Aho and Corasick, 1975). */
export interface Matcher {
  /**
   * Calls `found` with the range of each match, end exclusive, and with those of beginnings of
   * patterns, because texts are cut: at the end, or of at least 32 bytes.
   */
  find(bytes: Uint8Array, found: (start: number, end: number) => void): void;
}

/** Minimum length of a pattern's beginning at the end of a text, and elsewhere. */
const MIN_LAST = 6;
const MIN_BEGINNING = 32;
const SPACE = 0x20;

/**
 * Bytes that count as equal: ASCII letters of both cases, because encodings change cases, and a
 * plus and a space (`application/x-www-form-urlencoded`).
 */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x41 && byte <= 0x5a) return byte + 0x20;
  return byte === 0x2b ? SPACE : byte;
});
/** Bytes after a cut text: dots, an ellipsis, quotes and brackets. */
const CLOSING = new Set([..."\"')]}.;,", "\x80", "\xa6", "\xe2"].map((char) => char.charCodeAt(0)));

/** Creates a matcher in time and space proportional to the length of all patterns. */
export function createMatcher(patterns: readonly Uint8Array[]): Matcher {
  /** Child of a node by `node * 256 + byte`. Node 0 is the root. */
  const children = new Map<number, number>();
  const depth = [0];
  /** Length of the longest pattern that ends at a node; 0: none. */
  const ends = [0];
  const edges: (readonly [parent: number, byte: number, node: number])[] = [];
  for (const pattern of patterns) {
    let node = 0;
    for (const raw of pattern) {
      const byte = FOLDED[raw] ?? 0;
      let child = children.get(node * 256 + byte);
      if (child === undefined) {
        child = depth.length;
        children.set(node * 256 + byte, child);
        edges.push([node, byte, child]);
        depth.push((depth[node] ?? 0) + 1);
        ends.push(0);
      }
      node = child;
    }
    ends[node] = pattern.length;
  }
  /** Node of the longest proper suffix of a node's text. */
  const suffix: number[] = Array.from({ length: depth.length }, () => 0);
  const next = (from: number, byte: number): number => {
    for (let node = from; ; node = suffix[node] ?? 0) {
      const child = children.get(node * 256 + byte);
      if (child !== undefined) return child;
      if (node === 0) return 0;
    }
  };
  // Shorter texts first: the suffix of a node is always shorter.
  const byDepth = edges.toSorted(([, , a], [, , b]) => (depth[a] ?? 0) - (depth[b] ?? 0));
  for (const [parent, byte, node] of byDepth) {
    if (parent !== 0) suffix[node] = next(suffix[parent] ?? 0, byte);
    ends[node] ||= ends[suffix[node] ?? 0] ?? 0;
  }
  return {
    find: (bytes, found) => {
      let last = bytes.length;
      while (last > 0 && CLOSING.has(bytes[last - 1] ?? 0)) last -= 1;
      let node = 0;
      for (let at = 0; at < bytes.length; at += 1) {
        const before = depth[node] ?? 0;
        node = next(node, FOLDED[bytes[at] ?? 0] ?? 0);
        const length = ends[node] ?? 0;
        if (length > 0) found(at + 1 - length, at + 1);
        const begun = depth[node] ?? 0;
        if (begun <= before && before >= MIN_BEGINNING) found(at - before, at);
        if ((at + 1 === last || at + 1 === bytes.length) && begun >= MIN_LAST)
          found(at + 1 - begun, at + 1);
      }
    },
  };
}
