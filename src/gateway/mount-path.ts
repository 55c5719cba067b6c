/** Properties of paths that a router ignores; each defaults to false. */
export interface PathTolerance {
  /** A slash at the end. */
  readonly trailingSlash?: boolean;
  /** Slashes after the first one. */
  readonly duplicateSlashes?: boolean;
  /** Upper and lower case of the literal parts. */
  readonly letterCase?: boolean;
}

/** The part of a path below the mount of a gateway; undefined: the path is outside of it. */
export type PathBelow = (path: string) => string | undefined;

/**
 * Creates the function that removes the prefix of a mount from paths.
 *
 * @param prefix with or without slashes at its ends. A segment with a colon or an asterisk stands for
 *   any segment, as in Fastify's routes.
 */
export function createPathBelow(
  prefix: string,
  { duplicateSlashes = false, letterCase = false }: PathTolerance = {},
): PathBelow {
  const fold = (text: string): string => (letterCase ? text.toLowerCase() : text);
  const expected = prefix.split("/").filter((segment) => segment !== "");
  return (received) => {
    const path = duplicateSlashes ? received.replace(/\/{2,}/g, "/") : received;
    let start = 0;
    for (const segment of expected) {
      if (path[start] !== "/") return undefined;
      const next = path.indexOf("/", start + 1);
      const end = next < 0 ? path.length : next;
      const text = path.slice(start + 1, end);
      if (!isAny(segment) && fold(text) !== fold(segment) && unescaped(text) !== segment)
        return undefined;
      start = end;
    }
    if (start === path.length) return "/";
    return path[start] === "/" ? path.slice(start) : undefined;
  };
}

function isAny(segment: string): boolean {
  return /[:*]/.test(segment);
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
