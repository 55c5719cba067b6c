/** JSON that is equal for equal values: members of objects are in the order of their names. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
