// Sites, and what is done with them, as people read them.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Site,
  type SiteDifference,
  type SiteLogEntry,
  SiteMode,
  type SiteResult,
  SiteStanding,
} from "../../gen/mooring/v1/site_pb.js";
import type { Output } from "./output.ts";
import { counted, localTime } from "./quantity.ts";

const STANDINGS: Readonly<Record<SiteStanding, string>> = {
  [SiteStanding.UNSPECIFIED]: "",
  [SiteStanding.SAME]: "same",
  [SiteStanding.DIFFERS]: "differs",
  [SiteStanding.MISSING]: "not there",
  [SiteStanding.EXTRA]: "only there",
  [SiteStanding.EXCLUDED]: "left out",
  [SiteStanding.HELD]: "kept there",
  [SiteStanding.REFUSED]: "refused",
  [SiteStanding.FOUGHT]: "fought over",
};

/** Prints sites, a line each. */
export async function writeSites(
  output: Output,
  sites: readonly Site[],
  revision: bigint,
): Promise<void> {
  await output.table(
    [
      { title: "NAME" },
      { title: "MODE" },
      { title: "STATE" },
      { title: "REVISION" },
      { title: "KIND" },
      { title: "ADDRESS", flexible: true },
      { title: "NOTE", flexible: true },
    ],
    sites.map((site) => [
      site.name,
      modeName(site),
      site.status?.health ?? "",
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
export function noteOf({ status }: Site): string {
  if (status === undefined) return "";
  if (status.error !== "") return status.error;
  const parts = [
    status.drift.length > 0 ? `differs: ${status.drift.join(", ")}` : "",
    ...status.refused.map(({ key, reason }) => `${key} refused: ${reason}`),
    status.held.length > 0 ? `kept there: ${status.held.map(({ key }) => key).join(", ")}` : "",
    status.fought.length > 0 ? `flapping, no longer corrected: ${status.fought.join(", ")}` : "",
  ];
  return parts.filter((part) => part !== "").join("; ");
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
        { title: "STANDING" },
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
  const verb = differing === 1 ? "differs" : "differ";
  return [`${counted(differing, "setting")} ${verb}`, ...others].join(", ");
}

/** Prints what became of settings. */
export async function writeResults(output: Output, results: readonly SiteResult[]): Promise<void> {
  if (results.length > 0)
    await output.table(
      [{ title: "KEY" }, { title: "OUTCOME" }, { title: "REASON", flexible: true }],
      results.map(({ key, outcome, reason }) => [key, outcome, reason]),
    );
}

/** Prints what was done at a site. */
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
