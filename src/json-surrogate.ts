/** Escapes of surrogates in a JSON text, in pairs if possible, and all other escapes. */
const ESCAPES =
  /\\(?:u(?<high>d[89ab][\da-f]{2})(?:\\u(?<low>d[c-f][\da-f]{2}))?|u(?<alone>d[c-f][\da-f]{2})|[\s\S])/gi;
const HAS_SURROGATE = /\\ud[89a-f]/i;

/**
 * Finds an escape such as `\ud800` without its other half. JSON permits it (RFC 8259, section 8.2), but
 * no UTF-8 text has it, so that neither a message nor a database can.
 *
 * @param text decoded from UTF-8, so that surrogates are escaped. @returns its offset; undefined: none.
 */
export function unpairedSurrogate(text: string): number | undefined {
  if (!HAS_SURROGATE.test(text)) return undefined;
  for (const { groups = {}, index } of text.matchAll(ESCAPES)) if (isUnpaired(groups)) return index;
  return undefined;
}

/** Replaces unpaired surrogates by U+FFFD, as servers written in Go do. */
export function withoutUnpairedSurrogates(text: string): string {
  if (unpairedSurrogate(text) === undefined) return text;
  return text.replace(ESCAPES, (found, ...rest) => {
    const groups = rest.at(-1) as Record<string, string | undefined>;
    return isUnpaired(groups) ? "\\ufffd" : found;
  });
}

function isUnpaired({ high, low, alone }: Readonly<Record<string, string | undefined>>): boolean {
  return alone !== undefined || (high !== undefined && low === undefined);
}
