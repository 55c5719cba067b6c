import { quote } from "../config/complaint.ts";
import { nameList } from "../config/value.ts";
import { suggestion } from "../suggestion.ts";
import { usage } from "./failure.ts";

/** Names of the groups by their numbers (docs/rest-contract.md, section 2.4, and the groups added since). */
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

/** Name of a group, or its number if it has no name: custom settings may use any number. */
export function groupName(group: number): string {
  return GROUPS[group] ?? String(group);
}

/** Parses numbers and names of groups, separated by commas. @throws CliFailure (usage). */
export function readGroups(text: string): number[] {
  const parsed = nameList(text);
  if ("complaint" in parsed) throw usage(`--group ${quote(text)} ${parsed.complaint}`);
  return parsed.value.map(readGroup);
}

function readGroup(text: string): number {
  if (/^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31) return Number(text);
  const group = (GROUPS as readonly string[]).indexOf(text.toLowerCase());
  if (group !== -1) return group;
  throw usage(
    `there is no group ${quote(text)}${suggestion(text, GROUPS, ".")} All: ${GROUPS.join(", ")}`,
  );
}
