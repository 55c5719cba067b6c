/** Maximum number of names in a row. */
export const MAX_NAMES = 100;
/** Maximum number of characters of the names of a row; the audit cuts longer texts. */
const MAX_NAME_LENGTH = 3_900;

/** Divides the names of objects so that each part fits into a row; at least one part. */
export function subjectParts(names: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [[]];
  let length = 0;
  for (const name of names) {
    const last = parts.at(-1) ?? [];
    if (last.length >= MAX_NAMES || (last.length > 0 && length + name.length > MAX_NAME_LENGTH)) {
      parts.push([name]);
      length = name.length;
    } else {
      last.push(name);
      length += name.length;
    }
  }
  return parts;
}
