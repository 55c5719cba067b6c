// Mounts as text for people.
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import type { ConfigItem } from "../../gen/mooring/v1/driver_pb.js";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import {
  type Mount,
  MountContent,
  type MountInput,
  MountOverrideSchema,
  type MountStatus,
  type MountTest,
} from "../../gen/mooring/v1/mount_pb.js";
import { type SiteChoice, SiteChoiceSchema } from "../../gen/mooring/v1/site_choice_pb.js";
import { quote } from "../config/complaint.ts";
import { ownValue, setOwn } from "../own-value.ts";
import { suggestion } from "../suggestion.ts";
import { localTime, refuseRepeated } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { usage } from "./failure.ts";
import { readValue } from "./file.ts";
import { type Output, printableLine } from "./output.ts";

/** Prints mounts, a line each. */
export async function writeMounts(output: Output, mounts: readonly Mount[]): Promise<void> {
  await output.table(
    [
      { title: "NAME" },
      { title: "PATH", flexible: true },
      { title: "DRIVER" },
      { title: "SITES" },
      { title: "STATE", flexible: true },
    ],
    mounts.map((mount) => [
      mount.name,
      mount.mountPath,
      mount.driver,
      sitesText(mount.sites),
      stateOf(mount),
    ]),
  );
}

/** Sites of a mount as `readSites` reads them. */
export function sitesText(sites: SiteChoice | undefined): string {
  if (sites === undefined || sites.none) return "none";
  return sites.all ? "all" : sites.names.join(",");
}

/** Reads `all`, `none`, or names of sites with commas. */
export function readSites(text: string): SiteChoice {
  if (text === "all" || text === "none") return create(SiteChoiceSchema, { [text]: true });
  const names = text.split(",").map((site) => site.trim());
  if (names.includes(""))
    throw usage("the name of a site is empty: write names separated by commas, all or none");
  return create(SiteChoiceSchema, { names });
}

/** State of a mount in a few words, such as `ok` or `one: failing (login failed)`. */
function stateOf({ disabled, status, missing }: Mount): string {
  const open = status.filter(({ state }) => state !== "ok");
  const words = open.map((each) => `${each.site}: ${statusText(each)}`);
  if (words.length > 0) return words.join("; ");
  if (missing.length > 0) return `incomplete (${missing.join(", ")})`;
  return disabled ? "disabled" : status.length === 0 ? "" : "ok";
}

function statusText({ state, error, differs }: MountStatus): string {
  const reason = error === "" ? differs.join(", ") : error;
  return reason === "" ? state : `${state} (${reason})`;
}

/** Rows about a mount on a site: its state, since when, how recent that is, and what to do. */
/** @param strip its last days there; undefined: they are not shown. */
function statusRows(status: MountStatus, strip: string | undefined): [string, string][] {
  const { site, sinceTime, readTime, listTime, agrees, remedy } = status;
  const since = sinceTime === undefined ? "" : `, since ${timeText(sinceTime)}`;
  const read = readTime === undefined ? "not read yet" : `read ${timeText(readTime)}`;
  const listed =
    listTime === undefined ? "not listed at its provider" : `listed ${timeText(listTime)}`;
  const values = agrees ? "values agree" : "values do not agree";
  return [
    [`on ${site}`, `${statusText(status)}${since}`],
    ["", `${values}, ${read}, ${listed}`],
    ...(strip === undefined
      ? []
      : [["", strip === "" ? "no days yet" : `last 30 days: ${strip}`] as [string, string]]),
    ...(remedy === "" ? [] : [["", remedy] as [string, string]]),
  ];
}

function entryCount(count: number): string {
  return count === 1 ? "1 entry" : `${count} entries`;
}

function timeText(time: Timestamp): string {
  return localTime(timestampMs(time));
}

/** Prints one mount with its values. @param strips its last days, by site. */
export async function writeMount(
  output: Output,
  mount: Mount,
  strips?: ReadonlyMap<string, string>,
): Promise<void> {
  const rows: [string, string][] = [
    ["name", mount.name],
    ["path", mount.mountPath],
    ["driver", mount.driver],
    ["disabled", String(mount.disabled)],
    ["sites", sitesText(mount.sites)],
    ["revision", String(mount.revision)],
    ...valueRows(mount.config),
    ...valueRows(mount.members),
    ...Object.entries(mount.overrides).flatMap(([site, override]): [string, string][] => [
      ...(override.mountPath === ""
        ? []
        : ([[`path@${site}`, override.mountPath]] as [string, string][])),
      ...valueRows(override.config, `@${site}`),
      ...valueRows(override.members, `@${site}`),
    ]),
    ...mount.missing.map((field): [string, string] => ["missing", field]),
    ...mount.status.flatMap((status) => statusRows(status, strips?.get(status.site))),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  await output.write(
    rows.map(([name, text]) => `${name.padEnd(width)}  ${printableLine(text)}\n`).join(""),
  );
}

function valueRows(values: JsonObject | undefined, at = ""): [string, string][] {
  return Object.entries(values ?? {}).map(([name, value]) => [`${name}${at}`, String(value)]);
}

/** Prints the status of mounts on sites, a line each. */
export async function writeStatus(output: Output, statuses: readonly MountStatus[]): Promise<void> {
  const counts = Map.groupBy(statuses, statusText);
  await output.write(
    [...counts]
      .map(([text, all]) => `${printableLine(`${all[0]?.site}: ${all.length} ${text}`)}\n`)
      .join(""),
  );
}

/** Prints the results of tests, with the first entries of mounts that work. */
export async function writeTests(output: Output, tests: readonly MountTest[]): Promise<void> {
  await output.write(
    tests
      .flatMap(({ name, site, mountPath, outcome, error, remedy, entries, total }) => {
        const what = outcome === "works" ? entryCount(total) : error;
        const rest = total > entries.length ? [`… ${total - entries.length} more`] : [];
        const trouble = [outcome === "works" ? error : "", remedy].filter((text) => text !== "");
        const more = [...trouble, ...entries, ...rest];
        return [
          `${name} on ${site} (${mountPath}): ${outcome} (${what})`,
          ...more.map((line) => `  ${line}`),
        ];
      })
      .map((line) => `${printableLine(line)}\n`)
      .join(""),
  );
}

/** Members of a mount that are not items of its driver. */
const OWN = ["path", "disabled", "sites", "content"];

/**
 * Puts arguments such as `root_folder_path=/srv`, `order@harbour=3` or `password=@PATH` into the
 * members of a mount, with the types of the catalogue.
 *
 * @param before the current mount; overrides of a site are replaced as a whole.
 * @throws CliFailure with the expected notation.
 */
export async function readMountMembers(
  run: CommandRun,
  input: MountInput,
  members: readonly string[],
  driver: string,
  before?: Mount,
): Promise<void> {
  refuseRepeated(members);
  const { info } = await (await run.connectTo(DriverService)).getDriver({ driver });
  const common = new Map((info?.common ?? []).map((item) => [item.name, item]));
  const items = new Map((info?.additional ?? []).map((item) => [item.name, item]));
  const config: JsonObject = {};
  const shared: JsonObject = {};
  const overrides = structuredClone(before?.overrides ?? {});
  const changed = new Set<string>();
  for (const member of members) {
    const [, name = "", site, text] = /^([^=@]+)(?:@([^=]+))?(?:=(.*))?$/s.exec(member) ?? [];
    if (name === "") throw usage("an argument is not ITEM=VALUE, such as root_folder_path=/srv");
    if (site === undefined && OWN.includes(name)) {
      readOwn(input, name, text);
      continue;
    }
    const item = items.get(name) ?? common.get(name);
    if (item === undefined && !(site !== undefined && name === "path"))
      throw usage(
        `${driver} has no ${quote(name)}${suggestion(name, [...OWN, ...items.keys(), ...common.keys()])}`,
      );
    const value = text === undefined ? null : scalarOf(item, await textOf(run, text));
    if (site === undefined) {
      (items.has(name) ? config : shared)[name] = value;
      continue;
    }
    const override = ownValue(overrides, site) ?? create(MountOverrideSchema);
    setOwn(overrides, site, override);
    changed.add(site);
    if (item === undefined) {
      override.mountPath = value === null ? "" : String(value);
      continue;
    }
    const place = items.has(name) ? "config" : "members";
    const values = { ...override[place] };
    if (value === null) delete values[name];
    else values[name] = value;
    override[place] = values;
  }
  if (Object.keys(config).length > 0) input.config = config;
  if (Object.keys(shared).length > 0) input.members = shared;
  for (const site of changed) {
    const override = ownValue(overrides, site);
    if (override !== undefined) setOwn(input.overrides, site, override);
  }
  // The values of a site are sent as a whole: those of another client are not replaced.
  if (changed.size > 0 && before !== undefined) input.expectedEtag = before.etag;
}

/** Reads `ITEM=VALUE` or `ITEM@SITE=VALUE`. @throws CliFailure (usage). */
export async function readItem(
  run: CommandRun,
  text: string,
): Promise<{ readonly item: string; readonly site: string; readonly value: string }> {
  const [, item, site = "", value] = /^([^=@]+)(?:@([^=]+))?=(.*)$/s.exec(text) ?? [];
  if (item === undefined || value === undefined)
    throw usage("invalid argument: write ITEM=VALUE, such as refresh_token=@token.txt");
  return { item, site, value: await textOf(run, value) };
}

/** `@PATH` is the content of a file; `@@` escapes a leading `@`. */
export async function textOf({ world }: CommandRun, text: string): Promise<string> {
  if (text.startsWith("@@")) return text.slice(1);
  return text.startsWith("@") ? readValue(text.slice(1), world) : text;
}

/**
 * Converts a value to the JSON type of its item. Invalid text stays text, which the service
 * rejects.
 */
function scalarOf(item: ConfigItem | undefined, text: string): JsonValue {
  if (item?.type === "bool" && (text === "true" || text === "false")) return text === "true";
  const isNumber = item?.type === "number" || item?.type === "float";
  if (isNumber && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return text;
}

function readOwn(input: MountInput, name: string, text: string | undefined): void {
  if (text === undefined) throw usage(`${name} needs a value: ${name}=VALUE`);
  switch (name) {
    case "path":
      input.mountPath = text;
      return;
    case "disabled":
      if (text !== "true" && text !== "false") throw usage("disabled must be true or false");
      input.disabled = text === "true";
      return;
    case "sites":
      input.sites = readSites(text);
      return;
    default:
      if (text !== "adopt" && text !== "overwrite")
        throw usage("content must be adopt or overwrite");
      input.content = text === "adopt" ? MountContent.ADOPT : MountContent.OVERWRITE;
  }
}
