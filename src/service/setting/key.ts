/** Characters of a key at most. */
const MAX_KEY = 255;

/**
 * Checks a key: 1 to 255 characters that can be seen, and no white space around them.
 *
 * @returns what is wrong and what would be right; undefined when nothing is.
 */
export function checkKey(key: string): string | undefined {
  if (key === "") return "must not be empty";
  if (key.length > 2 * MAX_KEY || [...key].length > MAX_KEY)
    return `has more than ${MAX_KEY} characters, which is the most that is possible`;
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(key))
    return "must not contain line breaks or other control characters";
  return key.trim() === key ? undefined : "must not have white space around it";
}
