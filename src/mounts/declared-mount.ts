import { isObject } from "../is-object.ts";
import type { Text } from "../messages/message.ts";
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

/** Reports the problem of a member, by its path in the mount. */
export type Complain = (path: readonly string[], reason: Text) => void;

/** Reads a mount in the form of the file of mounts and of archives. Problems never quote a value. */
export function readDeclared(name: string, given: unknown, complain: Complain): MountInput {
  if (!isObject(given)) {
    complain([], `${quoted(name)} must be a mapping with path and driver`);
    return { name };
  }
  checkMembers(given, MEMBERS, (member, reason) => complain([member], reason));
  const { path, driver, config, members, disabled, sites, content, overrides, unchecked } = given;
  const need = (member: string, isRight: boolean, form: string): void => {
    if (!isRight) complain([member], `${member} must be ${form}`);
  };
  need("path", typeof path === "string", "text");
  need("driver", typeof driver === "string", "text");
  need("disabled", ["boolean", "undefined"].includes(typeof disabled), "true or false");
  need(
    "content",
    [undefined, "adopt", "overwrite"].includes(content as string),
    "adopt or overwrite",
  );
  const chosen = readSites(sites);
  need("sites", sites === undefined || chosen !== undefined, "a list of names, all or none");
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
  if (typeof path !== "string") complain([...place, "path"], "path must be text");
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
      complain(member, `a mount has no ${quoted(member)}.${didYouMean(member, known)}`);
}

function mapping(given: unknown, place: readonly string[], complain: Complain): ValueInput {
  if (given === undefined || given === null) return {};
  if (isObject(given)) return given;
  complain(place, `${place.at(-1)} must be a mapping`);
  return {};
}

export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
