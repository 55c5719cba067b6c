// Sites and their actions as text for people.

import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Site,
  type SiteDifference,
  type SiteInput,
  SiteInputSchema,
  type SiteLogEntry,
  SiteMode,
  type SiteResult,
  SiteStanding,
} from "../../gen/mooring/v1/site_pb.js";
import { quote } from "../config/complaint.ts";
import { nameList } from "../config/value.ts";
import { setOwn } from "../own-value.ts";
import { suggestion } from "../suggestion.ts";
import { countedDiffers, localTime } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { usage } from "./failure.ts";
import { readText, readValue } from "./file.ts";
import type { Output } from "./output.ts";
import { askHidden, canAsk } from "./prompt.ts";

/** Members of a site that the command sets. */
const MEMBERS = [
  "mode",
  "paused",
  "name",
  "url",
  "include",
  "exclude",
  "certificate_sha256",
  "override:KEY",
];

const STANDINGS: Readonly<Record<SiteStanding, string>> = {
  [SiteStanding.UNSPECIFIED]: "",
  [SiteStanding.SAME]: "same",
  [SiteStanding.DIFFERS]: "differs",
  [SiteStanding.MISSING]: "missing",
  [SiteStanding.EXTRA]: "extra",
  [SiteStanding.EXCLUDED]: "excluded",
  [SiteStanding.HELD]: "pinned",
  [SiteStanding.REFUSED]: "refused",
  [SiteStanding.FLAPPING]: "flapping",
};

/** Prints sites, a line each. @param strips their last days, by name. */
export async function writeSites(
  output: Output,
  sites: readonly Site[],
  revision: bigint,
  strips?: ReadonlyMap<string, string>,
): Promise<void> {
  await output.table(
    [
      { title: "NAME" },
      { title: "MODE" },
      { title: "STATE" },
      ...(strips === undefined ? [] : [{ title: "LAST 30 DAYS" }]),
      { title: "REVISION" },
      { title: "KIND" },
      { title: "ADDRESS", flexible: true },
      { title: "NOTE", flexible: true },
    ],
    sites.map((site) => [
      site.name,
      modeName(site),
      site.status?.state ?? "",
      ...(strips === undefined ? [] : [strips.get(site.name) ?? ""]),
      `${site.status?.appliedRevision ?? 0}/${revision}`,
      site.status?.kind ?? "",
      site.url,
      noteOf(site),
    ]),
  );
}

function modeName({ mode, upstream }: Site): string {
  const name = mode === SiteMode.FOLLOW ? "follow" : "observe";
  return upstream ? `${name}, upstream` : name;
}

/** Status of a site in one line. */
export function noteOf({ status, paused }: Site): string {
  if (status === undefined) return "";
  if (status.error !== "") return status.error;
  const parts = [
    paused ? status.cause : "",
    status.drift.length > 0 ? `differs: ${status.drift.join(", ")}` : "",
    ...status.refused.map(({ key, reason }) => `${key} refused: ${reason}`),
    status.held.length > 0 ? `pinned: ${status.held.map(({ key }) => key).join(", ")}` : "",
    status.flapping.length > 0
      ? `flapping, no longer corrected: ${status.flapping.join(", ")}`
      : "",
    recordNote("mounts", status.mounts),
    recordNote("rules", status.rules),
  ];
  // A site that is not read, or waits for something else.
  return parts.filter((part) => part !== "").join("; ") || status.cause;
}

/** Numbers of records that do not work, such as `mounts: 1 failing`. */
function recordNote(noun: string, counts: Readonly<Record<string, number>>): string {
  const { differs = 0, failing = 0, stuck = 0 } = counts;
  const parts = [
    ...(differs > 0 ? [`${differs} ${differs === 1 ? "differs" : "differ"}`] : []),
    ...(failing > 0 ? [`${failing} failing`] : []),
    ...(stuck > 0 ? [`${stuck} stuck`] : []),
  ];
  return parts.length === 0 ? "" : `${noun}: ${parts.join(", ")}`;
}

/** Prints the differing settings, and the number of each kind. */
export async function writeDifferences(
  output: Output,
  differences: readonly SiteDifference[],
): Promise<void> {
  if (differences.length > 0)
    await output.table(
      [
        { title: "KEY" },
        { title: "STATUS" },
        { title: "HERE", flexible: true },
        { title: "THERE", flexible: true },
        { title: "NOTE", flexible: true },
      ],
      differences.map(({ key, standing, wanted, found, overridden, note }) => [
        key,
        overridden ? `${STANDINGS[standing]}, its own` : STANDINGS[standing],
        shown(wanted),
        shown(found),
        note,
      ]),
    );
}

function shown(value: string | undefined): string {
  if (value === undefined) return "–";
  return value === "" ? '""' : value;
}

/** `3 settings differ`, and the numbers of the other kinds. */
export function differenceCount(differences: readonly SiteDifference[]): string {
  const differing = differences.filter(({ standing }) => standing === SiteStanding.DIFFERS).length;
  const others = Object.entries(
    Object.groupBy(
      differences.filter(
        ({ standing }) => standing !== SiteStanding.DIFFERS && standing !== SiteStanding.SAME,
      ),
      ({ standing }) => STANDINGS[standing],
    ),
  ).map(([name, of = []]) => `${of.length} ${name}`);
  return [countedDiffers(differing, "setting"), ...others].join(", ");
}

/** Prints the results of settings. */
export async function writeResults(output: Output, results: readonly SiteResult[]): Promise<void> {
  if (results.length > 0)
    await output.table(
      [{ title: "KEY" }, { title: "OUTCOME" }, { title: "REASON", flexible: true }],
      results.map(({ key, outcome, reason }) => [key, outcome, reason]),
    );
}

/** Prints the log of a site. */
export async function writeLog(output: Output, entries: readonly SiteLogEntry[]): Promise<void> {
  await output.table(
    [
      { title: "TIME" },
      { title: "ACTION" },
      { title: "REVISION" },
      { title: "BY" },
      { title: "KEYS", flexible: true },
      { title: "RESULT", flexible: true },
    ],
    entries.map(({ time, action, revision, actor, keys, result }) => [
      time === undefined ? "" : localTime(timestampMs(time)),
      action,
      String(revision),
      actor,
      keys.join(", "),
      result,
    ]),
  );
}

/**
 * Puts an argument such as `mode=follow` or `override:site_title=Harbour` into the members of a
 * site.
 *
 * @param overrides updated by arguments that begin with `override:`.
 * @throws CliFailure with the expected notation.
 */
export function readMember(
  text: string,
  input: SiteInput,
  overrides: Record<string, string>,
): void {
  const at = text.indexOf("=");
  const [name, value] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  const key = /^override:(.+)$/s.exec(name)?.[1];
  if (key !== undefined) {
    if (value === undefined) delete overrides[key];
    else setOwn(overrides, key, value);
    return;
  }
  if (value === undefined) throw usage("invalid argument: write MEMBER=VALUE, such as mode=follow");
  switch (name) {
    case "mode":
      if (value !== "follow" && value !== "observe") throw usage("mode must be follow or observe");
      input.mode = value === "follow" ? SiteMode.FOLLOW : SiteMode.OBSERVE;
      return;
    case "paused":
      if (value !== "true" && value !== "false") throw usage("paused must be true or false");
      input.paused = value === "true";
      return;
    case "name":
      input.name = value;
      return;
    case "url":
      input.url = value;
      return;
    case "certificate_sha256":
      input.certificateSha256 = value;
      return;
    case "include":
    case "exclude":
      input[name] = create(SiteInputSchema, { [name]: { patterns: patternsOf(value, name) } })[
        name
      ] as NonNullable<SiteInput["include"]>;
      return;
    default:
      throw usage(
        `a site has no ${quote(name)}${suggestion(name, MEMBERS, `: its members are ${MEMBERS.join(", ")}`)}`,
      );
  }
}

function patternsOf(text: string, name: string): string[] {
  if (text === "") return [];
  const parsed = nameList(text);
  if ("complaint" in parsed) throw usage(`${name} ${parsed.complaint}`);
  return [...parsed.value];
}

/** The token of the site, from a file or typed; never an argument. */
export async function siteToken(
  { args, world }: CommandRun,
  needed: boolean,
): Promise<{ readonly token?: string }> {
  const path = args.text("site-token-file");
  if (path === undefined && !needed) return {};
  if (path === undefined && !canAsk(world))
    throw usage(
      "the site's token is missing: name a file with --site-token-file (- is standard input)",
    );
  const token =
    path === undefined ? await askHidden(world, "Token of the site") : await readValue(path, world);
  if (token.trim() === "") throw usage("the site's token is empty");
  return { token: token.trim() };
}

/** Reads the authority of the site's certificate, if a file is given. */
export async function authority({ args, world }: CommandRun): Promise<{ readonly ca?: string }> {
  const path = args.text("ca-file");
  return path === undefined ? {} : { ca: await readText({ path, limit: 65_536 }, world) };
}
