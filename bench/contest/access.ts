import { create } from "@bufbuild/protobuf";
import { AccessService, CreateTokenRequestSchema } from "../../gen/mooring/v1/access_service_pb.js";
import { callMethod } from "../call.ts";
import type { Contest, Side } from "../contest.ts";
import type { Lab } from "../experiment.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import { wrkSide } from "./rest.ts";

const PATH = "/api/admin/setting/get?key=hide_files";
const LOAD = "wrk, 32 keep-alive connections, HTTP/1.1; all tokens at one server";
/** Permitted additional CPU time for a token of a principal, in microseconds. */
const DEARER = 2;

const [SCOPED, LIMITED, ROOT] = ["scoped token", "limited token", "permanent token"];

/** Cost of authentication and authorization. */
export const accessCall: Contest = {
  name: "access",
  title: "GET /api/admin/setting/get?key=hide_files with tokens that may do less",
  load: LOAD,
  needs: ["wrk"],
  comparisons: [SCOPED, LIMITED].map((of) => ({
    ...{ of, against: ROOT, measure: "cpuPerRequest" as const },
    by: "difference" as const,
    target: { atMost: DEARER },
  })),
  open: async (lab) => {
    const mooring = await startMooring(lab);
    const scoped = await makeToken(mooring, ["settings:read"]);
    const limited = await makeToken(mooring, ["settings:read"], ["key:hide_*", "group:9"]);
    return [
      await callSide(lab, SCOPED, mooring, scoped),
      await callSide(lab, LIMITED, mooring, limited),
      await callSide(lab, ROOT, mooring, mooring.token),
    ];
  },
};

async function callSide(lab: Lab, name: string, mooring: Mooring, token: string): Promise<Side> {
  const { server, port } = mooring;
  const job = { port, path: PATH, headers: { Authorization: token } };
  return (await wrkSide(lab, name, server, job))[0];
}

/** Creates a token. @returns its text. */
async function makeToken(
  mooring: Mooring,
  scopes: readonly string[],
  limits: readonly string[] = [],
): Promise<string> {
  const request = { principal: "bench", scopes: [...scopes], limits: [...limits] };
  const reply = await callMethod(
    AccessService.method.createToken,
    create(CreateTokenRequestSchema, request),
    mooring,
  );
  return reply.secret;
}
