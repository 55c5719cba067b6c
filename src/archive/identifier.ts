/** Member that names an entry of a part in an archive. */
export function identifierOf(part: string): string {
  return part === "settings" ? "key" : "name";
}
