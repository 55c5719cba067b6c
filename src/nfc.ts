/** Longest text that is normalized, in UTF-16 code units. Names are shorter. */
const LONGEST = 256;

/**
 * Unicode normalization form C of a name that a client sent. Longer texts, which name nothing, stay as
 * they are: the time of a normalization grows with the square of the number of combining marks.
 */
export function toNfc(text: string): string {
  return text.length > LONGEST ? text : text.normalize("NFC");
}
