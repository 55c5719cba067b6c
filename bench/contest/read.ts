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
import type { Running } from "../stage.ts";
import { type FixedKind, keepMessage, keepReply, startFixed } from "../yardstick.ts";

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
  readonly job: Omit<Job, "port" | "token">;
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
  return {
    ...read,
    load: "wrk, 32 keep-alive connections, HTTP/1.1",
    needs: ["wrk"],
    comparisons: comparisonsOf(read),
    open: async (lab) => {
      const { server, port, token } = await startMooring(lab);
      const headers = { ...read.job.headers, ...(read.withToken && { Authorization: token }) };
      const job = { ...read.job, headers };
      const [mooring, reply] = await wrkSide(lab, "Mooring", server, { ...job, port });
      const kept = keepReply(lab.stage, job.path, reply);
      const sides = [mooring];
      for (const kind of kindsOf(read)) {
        const yardstick = await startFixed(lab.stage, kind, kept);
        const target = { ...job, port: yardstick.port };
        sides.push((await wrkSide(lab, kind, yardstick.server, target))[0]);
      }
      return sides;
    },
  };
}

function overGrpc(read: Read<GrpcRequest>): Contest {
  return {
    ...read,
    load: "h2load, 4 connections with 8 calls in flight each",
    needs: ["h2load"],
    comparisons: comparisonsOf(read),
    open: async (lab) => {
      const { server, port, token } = await startMooring(lab);
      const job = { ...read.job, ...(read.withToken && { token }) };
      const [mooring, message] = await h2loadSide(lab, "Mooring", server, { ...job, port });
      const kept = keepMessage(lab.stage, job.path, message);
      const sides = [mooring];
      for (const kind of kindsOf(read)) {
        const yardstick = await startFixed(lab.stage, kind, kept);
        const target = { ...job, port: yardstick.port };
        sides.push((await h2loadSide(lab, kind, yardstick.server, target))[0]);
      }
      return sides;
    },
  };
}

function kindsOf({ against }: Read<unknown>): readonly FixedKind[] {
  return Object.keys(against) as FixedKind[];
}

function comparisonsOf(read: Read<unknown>): Contest["comparisons"] {
  return kindsOf(read).map((kind) => {
    const target = read.against[kind];
    return { of: "Mooring", against: kind, measure: "perSecond", ...(target && { target }) };
  });
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

/** A side under h2load, after one real call that must succeed. */
async function h2loadSide(
  lab: Lab,
  name: string,
  server: Running,
  job: GrpcRequest,
): Promise<readonly [Side, Buffer]> {
  const reply = await callGrpc(job);
  const load = h2loadLoad(lab.stage, { ...job, replyBytes: reply.length });
  return [{ name, server, load, payloadBytes: reply.length }, reply];
}
