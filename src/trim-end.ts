/**
 * Text without a character at its end. The regular expression `/c+$/` takes quadratic time for many of
 * the character before another one.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
