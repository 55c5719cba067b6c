/** A revision of a message as the services take it; revisions stay far below 2^53. */
export function optionalNumber(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
