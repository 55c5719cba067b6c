const maxLength = 100;

/** A text from outside in quotes: cut to a bounded length, control characters escaped. */
export function quote(text: string): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  // JSON escapes the control characters below space; terminals obey those above 7e as well.
  return JSON.stringify(cut).replace(
    /[\x7f-\x9f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
