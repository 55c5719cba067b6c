// Incidents and webhooks as text for people.

import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Incident,
  IncidentClass,
  type Webhook,
  type WebhookDelivery,
  WebhookDeliveryState,
  WebhookFormat,
} from "../../gen/mooring/v1/incident_pb.js";
import { quote } from "../config/complaint.ts";
import { suggestion } from "../suggestion.ts";
import { localTime } from "./argument.ts";
import { usage } from "./failure.ts";
import { type Output, printableLine } from "./output.ts";

const CLASS_NAMES = Object.keys(IncidentClass).filter((name) => /^[A-Z]/.test(name));

function className(value: IncidentClass): string {
  return (IncidentClass[value] ?? "").toLowerCase();
}

const UNKNOWN = "unknown";

/**
 * Parses class names separated by commas; `all` is an empty list, and `-unknown` excludes incidents
 * without a known cause. @throws CliFailure (usage).
 */
export function classesOf(text: string): {
  classes: IncidentClass[];
  withoutUnknown: boolean;
} {
  if (text === "all") return { classes: [], withoutUnknown: false };
  const parts = text.split(",").map((part) => part.trim());
  return {
    classes: parts.filter((part) => part !== `-${UNKNOWN}`).map(classNamed),
    withoutUnknown: parts.includes(`-${UNKNOWN}`),
  };
}

function classNamed(text: string): IncidentClass {
  const name = text.toUpperCase();
  const names = CLASS_NAMES.filter((each) => each !== "UNSPECIFIED");
  if (names.includes(name)) return IncidentClass[name as keyof typeof IncidentClass];
  const classes = names.map((each) => each.toLowerCase());
  const hint = suggestion(text, classes, `: the classes are ${classes.join(", ")}`);
  throw usage(`there is no class ${quote(text)}${hint}`);
}

/** Prints incidents, a line each. */
export async function writeIncidents(
  output: Output,
  incidents: readonly Incident[],
): Promise<void> {
  await output.table(
    [
      { title: "ID" },
      { title: "SITE" },
      { title: "SUBJECT", flexible: true },
      { title: "CLASS" },
      { title: "SINCE" },
      { title: "STATE" },
      { title: "MESSAGE", flexible: true },
    ],
    incidents.map((incident) => [
      incident.id,
      incident.site,
      incident.mountPath || incident.title,
      className(incident.class),
      timeOf(incident.openTime),
      stateOf(incident),
      incident.message,
    ]),
  );
}

/** Prints one incident with what to do. */
export async function writeIncident(output: Output, incident: Incident): Promise<void> {
  const rows: [string, string][] = [
    ["what", incident.title],
    ["site", incident.site],
    ["mount", incident.mountPath],
    ["driver", incident.driver],
    ["class", className(incident.class)],
    ["since", timeOf(incident.openTime)],
    ["state", stateOf(incident)],
    ["message", incident.message],
    ["note", incident.note],
    ["to do", incident.action],
    ...incident.items.map(({ name, label, description }): [string, string] => [
      `  ${name}`,
      [label, description].filter((text) => text !== "").join(": "),
    ]),
    ["guide", incident.guide],
  ];
  const shown = rows.filter(([, text]) => text !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  await output.write(
    shown.map(([name, text]) => `${name.padEnd(width)}  ${printableLine(text)}\n`).join(""),
  );
}

function stateOf({ closeTime, acknowledgeTime, acknowledgedBy }: Incident): string {
  if (closeTime !== undefined) return `closed ${timeOf(closeTime)}`;
  return acknowledgeTime === undefined ? "open" : `acknowledged by ${acknowledgedBy}`;
}

/** Prints webhooks, a line each. */
export async function writeWebhooks(output: Output, webhooks: readonly Webhook[]): Promise<void> {
  await output.table(
    [
      { title: "NAME" },
      { title: "FORMAT" },
      { title: "TARGET", flexible: true },
      { title: "CLASSES" },
      { title: "SITES", flexible: true },
      { title: "LANGUAGE" },
      { title: "STATE" },
    ],
    webhooks.map(({ name, format, target, classes, withoutUnknown, sites, language, disabled }) => [
      name,
      (WebhookFormat[format] ?? "").toLowerCase(),
      target,
      classes.length === 0
        ? "all"
        : [...classes.map(className), ...(withoutUnknown ? [`-${UNKNOWN}`] : [])].join(","),
      sites.length === 0 ? "all" : sites.join(","),
      language,
      disabled ? "disabled" : "enabled",
    ]),
  );
}

/** Prints deliveries, a line each. */
export async function writeDeliveries(
  output: Output,
  deliveries: readonly WebhookDelivery[],
): Promise<void> {
  await output.table(
    [{ title: "ID" }, { title: "TIME" }, { title: "TYPE" }, { title: "RESULT", flexible: true }],
    deliveries.map((delivery) => [
      delivery.id,
      timeOf(delivery.createTime),
      delivery.type,
      resultOf(delivery),
    ]),
  );
}

/** State of a delivery in a few words. */
export function resultOf(delivery: WebhookDelivery | undefined): string {
  if (delivery === undefined) return "";
  const { state, status, error, attempts, retryTime } = delivery;
  if (state === WebhookDeliveryState.DELIVERED) return `delivered (HTTP ${status})`;
  const tried = `${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
  const reason = error === "" ? tried : `${tried}, ${error}`;
  return retryTime === undefined
    ? `failed (${reason})`
    : `waiting until ${timeOf(retryTime)} (${reason})`;
}

function timeOf(time: Timestamp | undefined): string {
  return time === undefined ? "" : localTime(timestampMs(time));
}
