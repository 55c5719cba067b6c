// Mounts as text for people.

import type { JsonObject } from "@bufbuild/protobuf";
import type { Mount, MountResult, MountStatus } from "../../gen/mooring/v1/mount_pb.js";
import type { Output } from "./output.ts";
import { printableLine } from "./printable.ts";

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
      mount.sites.length === 0 ? "all" : mount.sites.join(","),
      stateOf(mount),
    ]),
  );
}

/** In a few words, such as `ok` or `one: failing (login failed)`. */
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

/** Prints one mount with its values. */
export async function writeMount(output: Output, mount: Mount): Promise<void> {
  const rows: [string, string][] = [
    ["name", mount.name],
    ["path", mount.mountPath],
    ["driver", mount.driver],
    ["disabled", String(mount.disabled)],
    ["sites", mount.sites.length === 0 ? "all" : mount.sites.join(",")],
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
    ...mount.status.map((each): [string, string] => [`on ${each.site}`, statusText(each)]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  await output.write(
    rows.map(([name, text]) => `${name.padEnd(width)}  ${printableLine(text)}\n`).join(""),
  );
}

function valueRows(values: JsonObject | undefined, at = ""): [string, string][] {
  return Object.entries(values ?? {}).map(([name, value]) => [`${name}${at}`, String(value)]);
}

/** Prints what became of mounts, a line each. */
export async function writeResults(output: Output, results: readonly MountResult[]): Promise<void> {
  await output.write(
    results
      .map(({ name, outcome, note, differs }) => {
        const what = [differs.join(", "), note].filter((text) => text !== "").join("; ");
        return `${printableLine(`${name}: ${outcome}${what === "" ? "" : ` (${what})`}`)}\n`;
      })
      .join(""),
  );
}

/** Prints how mounts are on sites, a line each. */
export async function writeStatus(output: Output, statuses: readonly MountStatus[]): Promise<void> {
  const counts = Map.groupBy(statuses, statusText);
  await output.write(
    [...counts]
      .map(([text, all]) => `${printableLine(`${all[0]?.site}: ${all.length} ${text}`)}\n`)
      .join(""),
  );
}
