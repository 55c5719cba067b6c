/**
 * Reports whether a text matches a pattern, where `*` matches any text. One pass for any pattern:
 * each part between stars at its earliest position.
 *
 * @param parts the pattern, split at its stars.
 */
export function fitsGlob(parts: readonly string[], text: string): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  const middle = text.slice(0, text.length - last.length);
  let at = first.length;
  for (const part of rest) {
    const found = middle.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}

/** Compiles a pattern for many texts. */
export function createGlob(pattern: string): (text: string) => boolean {
  // Consecutive stars are equivalent to one.
  const parts = pattern.replaceAll(/\*{2,}/g, "*").split("*");
  return (text) => fitsGlob(parts, text);
}
