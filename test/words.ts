/** The words of a text, for long lists. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
