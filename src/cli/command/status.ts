// The commands status and health.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  Health,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../../gen/health/v1/health_pb.js";
import {
  type GetStatusResponse,
  GetStatusResponseSchema,
  StatusService,
} from "../../../gen/mooring/v1/status_service_pb.js";
import { counted, localTime, untilText } from "../argument.ts";
import type { Command } from "../command.ts";
import { CliFailure, EXIT } from "../failure.ts";

export const statusCommand: Command = {
  name: "status",
  usage: ["status"],
  summary: "Print the status of the service",
  details: [
    "Version, start time, database, revision, open streams, sites, tokens that expire",
    "soon, and readiness. With several workers, one of them answers.",
  ],
  flags: [],
  offline: false,
  positionals: [0, 0],
  run: async ({ args, output, world, connectTo }) => {
    const reply = await (await connectTo(StatusService)).getStatus({});
    if (args.is("json")) return output.json(GetStatusResponseSchema, reply);
    const rows = rowsOf(reply, world.now());
    const width = Math.max(...rows.map(([name]) => name.length));
    const lines = rows.map(([name, text]) => `${name.padEnd(width)}  ${text}\n`);
    await output.value(lines.join(""));
  },
};

function rowsOf(reply: GetStatusResponse, now: number): (readonly [string, string])[] {
  const { startTime, checks } = reply;
  const wrong = checks.filter(({ problem }) => problem !== "");
  const started = startTime === undefined ? now : timestampMs(startTime);
  return [
    ["version", reply.version],
    [
      "running",
      `since ${localTime(started)} (${uptime(now - started)}), process ${reply.processId}`,
    ],
    ["ready", wrong.length === 0 ? "yes" : "no"],
    ...wrong.map(({ name, problem }) => [`  ${name}`, problem] as const),
    ["database", `${reply.database} (${reply.databaseId})`],
    ["revision", String(reply.revision)],
    ["settings", String(reply.settings)],
    ["drivers", String(reply.drivers)],
    ["watchers", String(reply.watchers)],
    // Such as the summary of the sites.
    ...checks.flatMap(({ name, note }) => (note === "" ? [] : [[name, note] as const])),
    ...(reply.openIncidentCount === 0
      ? []
      : ([
          ["mounts", `${counted(reply.openIncidentCount, "incident")}: mooring incident list`],
        ] as const)),
    ...expiringRows(reply),
  ];
}

/** Tokens that expire soon; usually none. */
function expiringRows({ expiringTokenCount, expiringTokens }: GetStatusResponse) {
  if (expiringTokenCount === 0) return [];
  const named = expiringTokens.map(
    ({ principal, tokenId, expireTime }) =>
      [`  ${principal}`, `${tokenId}, ${untilText(expireTime)}`] as const,
  );
  return [["tokens", `${counted(expiringTokenCount, "token")} to rotate soon`] as const, ...named];
}

/** Formats a duration as `3d 4h`, `4h 5m`, `5m 6s` or `6s`. */
function uptime(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const first = Math.max(
    0,
    parts.findIndex(([count]) => count > 0),
  );
  const shown = seconds === 0 ? parts.slice(-1) : parts.slice(first, first + 2);
  return shown.map(([count, unit]) => `${count}${unit}`).join(" ");
}

export const healthCommand: Command = {
  name: "health",
  usage: ["health"],
  summary: "Check whether the service is serving, for probes",
  details: [
    "Calls the standard gRPC health service. Exits with 6 if it is not serving.",
    "Needs no token, so that containers and supervisors can use it.",
  ],
  flags: [],
  offline: false,
  anonymous: true,
  positionals: [0, 0],
  run: async ({ args, output, connectTo }) => {
    const { status } = await (await connectTo(Health)).check({});
    const serves = status === Serving.SERVING;
    if (args.is("json")) await output.write(`{"serving":${serves}}\n`);
    if (!serves) throw new CliFailure(EXIT.unavailable, "the service is starting or stopping");
    if (!args.is("json")) await output.write("serving\n");
  },
};
