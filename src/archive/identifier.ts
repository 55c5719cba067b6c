import { ownValue } from "../own-value.ts";
import { cleanPath } from "../sites/site-path.ts";

/** Member that names an entry of a part in an archive. */
export function identifierOf(part: string): string {
  return part === "settings" ? "key" : "name";
}

/** Name of an entry as its record has it: rules are named by paths, which people write in several ways. */
export function nameOfRecord(part: string, name: string): string {
  return part === "rules" ? cleanPath(name) : name;
}

/** Members of entries that are secrets, which a file that declares them may have inline. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  sites: ["token"],
  webhooks: ["url", "secret"],
  rules: ["password"],
};

/** Members of the entries of a part that are secrets. */
export function secretMembersOf(part: string): readonly string[] {
  return ownValue(SECRETS, part) ?? [];
}
