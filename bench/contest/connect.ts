import { create, toBinary } from "@bufbuild/protobuf";
import {
  GetPublicSettingsRequestSchema,
  PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import { callGrpc, pathOf } from "../call.ts";
import type { Contest } from "../contest.ts";
import { startMooring } from "../mooring.ts";
import { keepMessage, startYardstick } from "../yardstick.ts";
import { wrkSide } from "./rest.ts";

/**
 * Connect with JSON over HTTP/1.1, as from a browser, against connect-fastify with the same
 * message.
 */
export const connectPublic: Contest = {
  name: "connect-public",
  title: "Connect JSON GetPublicSettings",
  load: "wrk, 32 keep-alive connections, HTTP/1.1 POST",
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring", against: "connect-fastify", measure: "perSecond", target: { atLeast: 1.5 } },
  ],
  open: async (lab) => {
    const { server, port } = await startMooring(lab);
    const path = pathOf(PublicService.method.getPublicSettings);
    const job = {
      path,
      method: "POST",
      headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1" },
      body: "{}",
    };
    const [mooring] = await wrkSide(lab, "Mooring", server, { ...job, port });
    const request = create(GetPublicSettingsRequestSchema);
    const body = toBinary(GetPublicSettingsRequestSchema, request);
    const kept = keepMessage(lab.stage, path, await callGrpc({ port, path, body }));
    const stock = await startYardstick(lab.stage, "connect.ts", ["fastify", kept]);
    const stockJob = { ...job, port: stock.port };
    const [stockSide] = await wrkSide(lab, "connect-fastify", stock.server, stockJob);
    return [mooring, stockSide];
  },
};
