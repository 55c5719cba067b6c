import { create, toBinary } from "@bufbuild/protobuf";
import {
  GetPublicSettingsRequestSchema,
  PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import {
  GetSettingRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { callGrpc, callHttp, type GrpcRequest, type HttpReply, pathOf } from "../call.ts";
import type { Contest, Side } from "../contest.ts";
import type { Lab } from "../experiment.ts";
import { h2loadLoad } from "../load/h2load.ts";
import { type WrkJob, wrkLoad } from "../load/wrk.ts";
import { startMooring } from "../mooring.ts";
import type { Running } from "../stage.ts";
import { type FixedKind, keepMessage, keepReply, startFixed } from "../yardstick.ts";

const KEY = "hide_files";
const PUBLIC = "/api/public/settings";
const SETTING = `/api/admin/setting/get?key=${KEY}`;
const PUBLIC_METHOD = pathOf(PublicService.method.getPublicSettings);
const PUBLIC_MESSAGE = toBinary(
  GetPublicSettingsRequestSchema,
  create(GetPublicSettingsRequestSchema),
);
const WRK = "wrk, 32 keep-alive connections, HTTP/1.1";
const H2LOAD = "h2load, 4 connections with 8 calls in flight each";

/** `GET /api/public/settings` against servers that send the same bytes from a buffer. */
export const restPublic: Contest = {
  name: "rest-public",
  title: `GET ${PUBLIC}`,
  load: WRK,
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring", against: "Fastify", measure: "perSecond", target: { atLeast: 0.85 } },
    { of: "Mooring", against: "node:http", measure: "perSecond" },
  ],
  open: async (lab) => {
    const { server, port } = await startMooring(lab);
    const job = { path: PUBLIC };
    const [mooring, reply] = await wrkSide(lab, "Mooring", server, { ...job, port });
    const kept = keepReply(lab.stage, job.path, reply);
    const http = await fixedWrkSide(lab, "node:http", "http", kept, job);
    return [mooring, http, await fixedWrkSide(lab, "Fastify", "fastify", kept, job)];
  },
};

/** One setting, with the token. */
export const restSetting: Contest = {
  name: "rest-setting",
  title: `GET ${SETTING} with token`,
  load: WRK,
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring", against: "node:http", measure: "perSecond", target: { atLeast: 0.62 } },
  ],
  open: async (lab) => {
    const { server, port, token } = await startMooring(lab);
    const job = { path: SETTING, headers: { Authorization: token } };
    const [mooring, reply] = await wrkSide(lab, "Mooring", server, { ...job, port });
    const kept = keepReply(lab.stage, job.path, reply);
    return [mooring, await fixedWrkSide(lab, "node:http", "http", kept, job)];
  },
};

/**
 * Connect with JSON over HTTP/1.1, as from a browser, against connect-fastify with the same
 * message.
 */
export const connectPublic: Contest = {
  name: "connect-public",
  title: "Connect JSON GetPublicSettings",
  load: `${WRK} POST`,
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring", against: "connect-fastify", measure: "perSecond", target: { atLeast: 1.5 } },
  ],
  open: async (lab) => {
    const { server, port } = await startMooring(lab);
    const headers = { "Content-Type": "application/json", "Connect-Protocol-Version": "1" };
    const job = { path: PUBLIC_METHOD, method: "POST", headers, body: "{}" };
    const [mooring] = await wrkSide(lab, "Mooring", server, { ...job, port });
    const message = await callGrpc({ port, path: PUBLIC_METHOD, body: PUBLIC_MESSAGE });
    const kept = keepMessage(lab.stage, PUBLIC_METHOD, message);
    return [mooring, await fixedWrkSide(lab, "connect-fastify", "connect-fastify", kept, job)];
  },
};

/** `GetPublicSettings` against servers with the same message. */
export const grpcPublic: Contest = {
  name: "grpc-public",
  title: "gRPC GetPublicSettings",
  load: H2LOAD,
  needs: ["h2load"],
  comparisons: [
    { of: "Mooring", against: "grpc-js", measure: "perSecond", target: { atLeast: 1.1 } },
    { of: "Mooring", against: "connect-node", measure: "perSecond", target: { atLeast: 4 } },
  ],
  open: async (lab) => {
    const { server, port } = await startMooring(lab);
    const job = { path: PUBLIC_METHOD, body: PUBLIC_MESSAGE };
    const [mooring, reply] = await h2loadSide(lab, "Mooring", server, { ...job, port });
    const grpc = await fixedH2loadSide(lab, "grpc-js", reply, job);
    return [mooring, grpc, await fixedH2loadSide(lab, "connect-node", reply, job)];
  },
};

/** `GetSetting` against a server with the same message. */
export const grpcSetting: Contest = {
  name: "grpc-setting",
  title: `gRPC GetSetting of ${KEY} with token`,
  load: H2LOAD,
  needs: ["h2load"],
  comparisons: [
    { of: "Mooring", against: "grpc-js", measure: "perSecond", target: { atLeast: 0.9 } },
  ],
  open: async (lab) => {
    const mooring = await startMooring(lab);
    const { server, port, token } = mooring;
    const request = create(GetSettingRequestSchema, { key: KEY });
    const body = toBinary(GetSettingRequestSchema, request);
    const job = { path: pathOf(SettingService.method.getSetting), body, token };
    const [side, reply] = await h2loadSide(lab, "Mooring", server, { ...job, port });
    return [side, await fixedH2loadSide(lab, "grpc-js", reply, job)];
  },
};

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

/** A yardstick with a fixed reply under wrk. */
async function fixedWrkSide(
  lab: Lab,
  name: string,
  kind: FixedKind,
  kept: string,
  job: Omit<WrkJob, "port">,
): Promise<Side> {
  const { server, port } = await startFixed(lab.stage, kind, kept);
  return (await wrkSide(lab, name, server, { ...job, port }))[0];
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

/** A yardstick with a fixed message under h2load. */
async function fixedH2loadSide(
  lab: Lab,
  kind: "grpc-js" | "connect-node",
  reply: Buffer,
  job: Omit<GrpcRequest, "port">,
): Promise<Side> {
  const kept = keepMessage(lab.stage, job.path, reply);
  const { server, port } = await startFixed(lab.stage, kind, kept);
  return (await h2loadSide(lab, kind, server, { ...job, port }))[0];
}
