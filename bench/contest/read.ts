import { create, toBinary } from "@bufbuild/protobuf";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import {
  GetSettingRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { callGrpc, callHttp, type GrpcRequest, type HttpReply, pathOf } from "../call.ts";
import type { Contest, Side } from "../contest.ts";
import type { Lab, Target } from "../experiment.ts";
import { h2loadLoad } from "../load/h2load.ts";
import { type WrkJob, wrkLoad } from "../load/wrk.ts";
import { startMooring } from "../mooring.ts";
import type { Program } from "../program.ts";
import type { Running } from "../stage.ts";
import {
  type FixedKind,
  type FixedReply,
  keptReply,
  type Started,
  startFixed,
} from "../yardstick.ts";

const KEY = "hide_files";
const PUBLIC = "/api/public/settings";
const SETTING = `/api/admin/setting/get?key=${KEY}`;
const PUBLIC_METHOD = pathOf(PublicService.method.getPublicSettings);
/** A request without members. */
const EMPTY = new Uint8Array();

/** What a contest of reads compares. */
interface Read<Job> {
  readonly name: string;
  readonly title: string;
  readonly job: Omit<Job, "port">;
  readonly withToken?: true;
  /** Servers that send the reply of Mooring, with the target in requests per second. */
  readonly against: Readonly<Partial<Record<FixedKind, Target | undefined>>>;
}

/** `GET /api/public/settings` against servers that send the same bytes from a buffer. */
export const restPublic = overHttp({
  name: "rest-public",
  title: `GET ${PUBLIC}`,
  job: { path: PUBLIC },
  against: { Fastify: { atLeast: 0.85 }, "node:http": undefined },
});

/** One setting, with the token. */
export const restSetting = overHttp({
  name: "rest-setting",
  title: `GET ${SETTING} with token`,
  job: { path: SETTING },
  withToken: true,
  against: { "node:http": { atLeast: 0.62 } },
});

/** Connect with JSON over HTTP/1.1, as from a browser, against connect-fastify. */
export const connectPublic = overHttp({
  name: "connect-public",
  title: "POST of Connect JSON, GetPublicSettings",
  job: {
    path: PUBLIC_METHOD,
    method: "POST",
    headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1" },
    body: "{}",
  },
  against: { "connect-fastify": { atLeast: 1.5 } },
});

export const grpcPublic = overGrpc({
  name: "grpc-public",
  title: "gRPC GetPublicSettings",
  job: { path: PUBLIC_METHOD, body: EMPTY },
  against: { "grpc-js": { atLeast: 1.1 }, "connect-node": { atLeast: 4 } },
});

export const grpcSetting = overGrpc({
  name: "grpc-setting",
  title: `gRPC GetSetting of ${KEY} with token`,
  job: {
    path: pathOf(SettingService.method.getSetting),
    body: toBinary(GetSettingRequestSchema, create(GetSettingRequestSchema, { key: KEY })),
  },
  withToken: true,
  against: { "grpc-js": { atLeast: 0.9 } },
});

function overHttp(read: Read<WrkJob>): Contest {
  return against(
    read,
    "wrk",
    "wrk, 32 keep-alive connections, HTTP/1.1",
    async (lab, one, token) => {
      const headers = { ...read.job.headers, ...(token && { Authorization: token }) };
      const [side, reply] = await wrkSide(lab, one.name, one.server, {
        ...read.job,
        headers,
        port: one.port,
      });
      return [side, keptReply(read.job.path, reply)];
    },
  );
}

function overGrpc(read: Read<GrpcRequest>): Contest {
  const load = "h2load, 4 connections with 8 calls in flight each";
  return against(read, "h2load", load, async ({ stage }, { name, server, port }, token) => {
    const job = { ...read.job, port, ...(token && { token }) };
    // A real call, which must succeed.
    const reply = await callGrpc(job);
    const side = {
      name,
      server,
      load: h2loadLoad(stage, { ...job, replyBytes: reply.length }),
      payloadBytes: reply.length,
    };
    return [side, { path: job.path, status: 200, headers: [], body: reply.toString("base64") }];
  });
}

/** Opens a side for a running server. @returns it, and the reply to one real call. */
type OpenSide = (
  lab: Lab,
  server: Started & { readonly name: string },
  token: string | undefined,
) => Promise<readonly [Side, FixedReply]>;

/** Mooring against servers with its reply. */
function against(
  { name, title, withToken, against }: Read<unknown>,
  program: Program,
  load: string,
  openSide: OpenSide,
): Contest {
  const kinds = Object.keys(against) as FixedKind[];
  return {
    name,
    title,
    load,
    needs: [program],
    comparisons: kinds.map((kind) => {
      const target = against[kind];
      return { of: "Mooring", against: kind, measure: "perSecond", ...(target && { target }) };
    }),
    open: async (lab) => {
      const mooring = await startMooring(lab);
      const token = withToken && mooring.token;
      const [side, reply] = await openSide(lab, { ...mooring, name: "Mooring" }, token);
      const sides = [side];
      for (const kind of kinds) {
        const yardstick = await startFixed(lab.stage, kind, reply);
        sides.push((await openSide(lab, { ...yardstick, name: kind }, token))[0]);
      }
      return sides;
    },
  };
}

/** A side under wrk, after one real call that must succeed. */
export async function wrkSide(
  lab: Lab,
  name: string,
  server: Running,
  job: WrkJob,
): Promise<readonly [Side, HttpReply]> {
  const reply = await callHttp(job);
  if (reply.status !== 200)
    throw new Error(`${name} answered ${reply.status}: ${reply.body.toString().slice(0, 200)}`);
  const load = wrkLoad(lab.stage, job);
  return [{ name, server, load, payloadBytes: reply.body.length }, reply];
}
