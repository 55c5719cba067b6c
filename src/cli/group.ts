import { nearestName } from "../config/nearest.ts";
import { quote } from "../config/quote.ts";
import { nameList } from "../config/value.ts";
import { usage } from "./failure.ts";

/** Names of the groups by their numbers (contract, section 2.4, and the groups added since). */
const GROUPS = [
  "single",
  "site",
  "style",
  "preview",
  "global",
  "download",
  "index",
  "sso",
  "ldap",
  "s3",
  "ftp",
  "traffic",
] as const;

/** The group's name, or its number where it has none: custom settings may use any. */
export function groupName(group: number): string {
  return GROUPS[group] ?? String(group);
}

/** Numbers and names, separated by commas. @throws CliFailure (usage). */
export function readGroups(text: string): number[] {
  const parsed = nameList(text, { cwd: "/", parallelism: 1 });
  if ("complaint" in parsed) throw usage(`--group ${quote(text)} ${parsed.complaint}`);
  return parsed.value.map(readGroup);
}

function readGroup(text: string): number {
  if (/^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31) return Number(text);
  const at = (GROUPS as readonly string[]).indexOf(text.toLowerCase());
  if (at !== -1) return at;
  throw usage(
    `there is no group ${quote(text)}: did you mean ${nearestName(text, GROUPS)}? All: ${GROUPS.join(", ")}`,
  );
}
