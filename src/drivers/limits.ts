/**
 * Bounds of a driver file and of the values checked against a driver. They are far above what the
 * built-in catalogue needs (its largest file has 10 KiB and 30 items) and keep one bad file or
 * request from costing much. Lengths are counted in code points, as JSON Schema does.
 */
export const LIMITS = {
  /** Bytes of one driver file. */
  fileBytes: 256 * 1024,
  /** Nesting of arrays and objects in a driver file. */
  depth: 16,
  /** Driver files in one folder. */
  files: 1000,
  /** UTF-16 units of all driver files in one folder; reading them takes about half a second. */
  folderLength: 8 * 1024 * 1024,
  /** Items of one driver in addition to the common ones. */
  items: 200,
  /** Items of one checked configuration, including unknown ones. */
  given: 1_000,
  /** Length of a driver's or an item's name. */
  name: 64,
  /** Length of a help or alert text. */
  help: 2000,
  /** Length of a default value. */
  defaultText: 4096,
  /** Length of an item's list of options. */
  options: 4096,
  /** Length of a show_when condition. */
  condition: 1000,
  /** Length of a value of type string or select. */
  value: 65_536,
  /** Length of a value of type text. */
  longValue: 524_288,
  /** Violations reported at once. */
  violations: 100,
  /** Problems of one driver file reported at once. */
  problems: 20,
} as const;

/** Largest whole number that all JSON parsers represent exactly (RFC 8259, section 6). */
export const LARGEST_WHOLE = Number.MAX_SAFE_INTEGER;

/** Length in code points, a surrogate pair counting once. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
