import { isObject } from "../is-object.ts";
import { message, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { MountInput, OverrideInput, ValueInput } from "./input.ts";

const MEMBERS = [
  "path",
  "driver",
  "config",
  "members",
  "disabled",
  "sites",
  "content",
  "overrides",
  "unchecked",
];
const OVERRIDE = ["path", "config", "members"];

/** Message about a member of a wrong type. */
type MemberProblem = "VALUE_NOT_TEXT" | "VALUE_NOT_SWITCH" | "CONTENT_OF_ENTRY" | "SITES_OF_ENTRY";

/** Reports the problem of a member, by its path in the mount. */
export type Complain = (path: readonly string[], reason: Text) => void;

/** Reads a mount in the form of the file of mounts and of archives. Problems never quote a value. */
export function readDeclared(name: string, given: unknown, complain: Complain): MountInput {
  if (!isObject(given)) {
    complain([], message("MOUNT_NOT_MAPPING", { name: quoted(name) }));
    return { name };
  }
  checkMembers(given, MEMBERS, (member, reason) => complain([member], reason));
  const { path, driver, config, members, disabled, sites, content, overrides, unchecked } = given;
  const need = (member: string, isRight: boolean, id: MemberProblem): void => {
    if (!isRight) complain([member], message(id, { field: member }));
  };
  need("path", typeof path === "string", "VALUE_NOT_TEXT");
  need("driver", typeof driver === "string", "VALUE_NOT_TEXT");
  need("disabled", ["boolean", "undefined"].includes(typeof disabled), "VALUE_NOT_SWITCH");
  need(
    "content",
    [undefined, "adopt", "overwrite"].includes(content as string),
    "CONTENT_OF_ENTRY",
  );
  const chosen = readSites(sites);
  need("sites", sites === undefined || chosen !== undefined, "SITES_OF_ENTRY");
  return {
    name,
    path: String(path),
    driver: String(driver),
    config: mapping(config, ["config"], complain),
    members: mapping(members, ["members"], complain),
    disabled: disabled === true,
    sites: chosen,
    unchecked: mapping(unchecked, ["unchecked"], complain),
    content: content === "overwrite" ? "overwrite" : "adopt",
    overrides: Object.fromEntries(
      Object.entries(mapping(overrides, ["overrides"], complain)).map(([site, values]) => [
        site,
        readOverride(values, site, complain),
      ]),
    ),
  };
}

/** Undefined: not a choice of sites. */
function readSites(sites: unknown): MountInput["sites"] {
  if (sites === "all") return "all";
  if (sites === "none") return [];
  const isNames = Array.isArray(sites) && sites.every((site) => typeof site === "string");
  return isNames && sites.length > 0 ? sites : undefined;
}

function readOverride(given: unknown, site: string, complain: Complain): OverrideInput {
  const place = ["overrides", site];
  const values = mapping(given, place, complain);
  checkMembers(values, OVERRIDE, (member, reason) => complain([...place, member], reason));
  const { path = "", config, members } = values;
  if (typeof path !== "string")
    complain([...place, "path"], message("VALUE_NOT_TEXT", { field: "path" }));
  return {
    path: String(path),
    config: mapping(config, [...place, "config"], complain),
    members: mapping(members, [...place, "members"], complain),
  };
}

function checkMembers(
  given: Readonly<Record<string, unknown>>,
  known: readonly string[],
  complain: (member: string, reason: Text) => void,
): void {
  for (const member of Object.keys(given))
    if (!known.includes(member))
      complain(
        member,
        message("MOUNT_MEMBER_UNKNOWN", { name: quoted(member), hint: didYouMean(member, known) }),
      );
}

function mapping(given: unknown, place: readonly string[], complain: Complain): ValueInput {
  if (given === undefined || given === null) return {};
  if (isObject(given)) return given;
  complain(place, message("VALUE_NOT_MAPPING", { field: place.at(-1) ?? "" }));
  return {};
}

export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
