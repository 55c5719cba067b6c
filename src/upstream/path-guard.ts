/**
 * Removes one level of percent-encoding. Invalid UTF-8 becomes U+FFFD; a percent sign without two hex
 * digits stays.
 */
export function decodePath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    const bytes = path.replace(/%([\da-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return Buffer.from(bytes, "latin1").toString("utf8");
  }
}

/** A path without one slash at its end, which has no meaning for an API. */
export function withoutEndSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** Reports whether every server reads a decoded path as it is written. */
export function isUnambiguous(path: string): boolean {
  return /^(?:\/[\da-z_-][\da-z_.-]*)+$/.test(path);
}

/** Paths to guard, in any case. */
interface GuardedPaths {
  readonly exact: Iterable<string>;
  /** Each with everything below it. */
  readonly below: Iterable<string>;
}

/**
 * Creates a test whether any server may normalize a request path to a guarded one. Servers differ in
 * how often they decode, how they resolve dot segments and double slashes, and whether they ignore
 * case, path parameters or control characters or treat a backslash as a slash.
 *
 * @returns a function of the raw path without query. It has no false negatives; paths with a segment
 *   `..` may be false positives.
 */
export function createPathGuard({ exact, below }: GuardedPaths): (path: string) => boolean {
  const exactPaths = new Set([...exact].map((path) => path.toLowerCase()));
  const folders = [...below].map((path) => path.toLowerCase());
  const guarded = [...exactPaths, ...folders].map(segmentsOf);
  const isGuarded = (segments: readonly string[]): boolean => {
    // Servers resolve `..` in different orders, and each result is a part of the segments.
    if (segments.includes("..")) return guarded.some((path) => contains(segments, path));
    const path = `/${segments.join("/")}`;
    return (
      exactPaths.has(path) ||
      folders.some((folder) => path === folder || path.startsWith(`${folder}/`))
    );
  };
  return (path) => readingsOf(path).some((reading) => isGuarded(segmentsOf(reading)));
}

/** Maximum number of decodings: each server in a chain may decode once. */
const MAX_LEVELS = 4;

/** Path after each level of decoding, complete and up to a possible terminator. */
function readingsOf(path: string): string[] {
  const readings: string[] = [];
  let current = path;
  for (let level = 0; level <= MAX_LEVELS; level += 1) {
    const text = withPlainLetters(current).toLowerCase();
    readings.push(text);
    const end = text.search(/[\0?#]/);
    if (end >= 0) readings.push(text.slice(0, end));
    const next = decodePath(current);
    if (next === current) break;
    current = next;
  }
  return readings;
}

/**
 * Replaces compatibility forms of letters, such as full-width ones. Each character by itself: no guarded
 * path has characters that only a sequence forms, and normalization of a long path takes quadratic time.
 */
function withPlainLetters(path: string): string {
  return path.replace(/[^\0-\x7f]/gu, (character) => character.normalize("NFKC"));
}

/** Significant segments of a path. */
function segmentsOf(path: string): string[] {
  return path
    .split(/[/\\]/)
    .map((segment) => segment.replace(/;.*$/s, "").replace(/[\0-\x20\x7f-\x9f]/g, ""))
    .filter((segment) => segment !== "" && segment !== ".");
}

/** Reports whether a path's segments occur among others, in order. */
function contains(segments: readonly string[], path: readonly string[]): boolean {
  let at = 0;
  for (const segment of segments) if (segment === path[at]) at += 1;
  return at === path.length;
}
