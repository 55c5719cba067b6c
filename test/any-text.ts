import fc from "fast-check";

/** Number of surrogates, which are no characters. */
const SURROGATES = 0x800;

const character = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((at) => String.fromCodePoint(at < 0xd800 ? at : at + SURROGATES));

/**
 * Text of any characters. The unit "binary" of fast-check is the same, but makes a table of all
 * characters once a process, which takes a second and 100 MB.
 */
export function anyText(bounds: Omit<fc.StringConstraints, "unit"> = {}): fc.Arbitrary<string> {
  return fc.string({ ...bounds, unit: character });
}

/** Any JSON value, with texts of any characters. */
export function anyJson(): fc.Arbitrary<unknown> {
  const numbers = fc.double({ noNaN: true, noDefaultInfinity: true });
  const values = [anyText(), numbers, fc.integer(), fc.boolean(), fc.constant(null)];
  return fc.anything({ key: anyText(), values }).map((value) => JSON.parse(JSON.stringify(value)));
}
