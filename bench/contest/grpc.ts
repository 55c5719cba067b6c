import { create, toBinary } from "@bufbuild/protobuf";
import {
  GetPublicSettingsRequestSchema,
  PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import {
  GetSettingRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { callGrpc, callMethod, type GrpcRequest, pathOf } from "../call.ts";
import type { Contest } from "../contest.ts";
import { type Side, serverSide } from "../contest.ts";
import type { Lab } from "../experiment.ts";
import { h2loadLoad } from "../load/h2load.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import type { Running } from "../stage.ts";
import {
  ETCD_RANGE,
  fillEtcd,
  keepMessage,
  serializableRange,
  startEtcd,
  startYardstick,
} from "../yardstick.ts";

const LOAD = "h2load, 4 connections with 8 calls in flight each";
const KEY = "hide_files";

/** `GetPublicSettings` against servers with the same message. */
export const grpcPublic: Contest = {
  name: "grpc-public",
  title: "gRPC GetPublicSettings",
  load: LOAD,
  needs: ["h2load"],
  comparisons: [
    { of: "Mooring", against: "grpc-js", measure: "perSecond", target: { atLeast: 1.1 } },
    { of: "Mooring", against: "connect-node", measure: "perSecond", target: { atLeast: 4 } },
  ],
  open: async (lab) => {
    const { server, port } = await startMooring(lab);
    const path = pathOf(PublicService.method.getPublicSettings);
    const body = toBinary(GetPublicSettingsRequestSchema, create(GetPublicSettingsRequestSchema));
    const [mooring, reply] = await h2loadSide(lab, "Mooring", server, { port, path, body });
    const kept = keepMessage(lab.stage, path, reply);
    const sides = [mooring];
    for (const [name, yardstick, ...args] of [
      ["grpc-js", "grpc.ts", kept],
      ["connect-node", "connect.ts", "node", kept],
    ] as const) {
      const other = await startYardstick(lab.stage, yardstick, args);
      const job = { port: other.port, path, body };
      sides.push((await h2loadSide(lab, name, other.server, job))[0]);
    }
    return sides;
  },
};

/** `GetSetting` against etcd with the same key and value. */
export const grpcSetting: Contest = {
  name: "grpc-setting",
  title: `gRPC GetSetting of ${KEY} with token`,
  load: LOAD,
  needs: ["h2load"],
  comparisons: [
    { of: "Mooring", against: "etcd", measure: "perSecond", target: { atLeast: 1 } },
    { of: "Mooring", against: "grpc-js", measure: "perSecond" },
  ],
  open: async (lab) => {
    const mooring = await startMooring(lab);
    const { server, port, token } = mooring;
    const path = pathOf(SettingService.method.getSetting);
    const body = toBinary(GetSettingRequestSchema, create(GetSettingRequestSchema, { key: KEY }));
    const job = { path, body, token };
    const [side, reply] = await h2loadSide(lab, "Mooring", server, { ...job, port });
    const sides = lab.etcd ? [side, await etcdSide(lab, mooring)] : [side];
    if (!lab.everything) return sides;
    const bare = await startYardstick(lab.stage, "grpc.ts", [keepMessage(lab.stage, path, reply)]);
    const [bareSide] = await h2loadSide(lab, "grpc-js", bare.server, { ...job, port: bare.port });
    return [...sides, bareSide];
  },
};

/** etcd with the setting's own key and value, read without asking other members. */
async function etcdSide(lab: Lab, mooring: Mooring): Promise<Side> {
  const request = create(GetSettingRequestSchema, { key: KEY });
  const { setting } = await callMethod(SettingService.method.getSetting, request, mooring);
  const { server, port } = await startEtcd(lab.stage);
  await fillEtcd(port, KEY, setting?.value ?? "");
  const job = { port, path: ETCD_RANGE, body: serializableRange(KEY) };
  return (await h2loadSide(lab, "etcd", server, job))[0];
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
  return [serverSide(name, server, load, { payloadBytes: reply.length }), reply];
}
