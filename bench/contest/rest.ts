import { callHttp, type HttpReply, type HttpRequest } from "../call.ts";
import type { Contest } from "../contest.ts";
import { type Side, serverSide } from "../contest.ts";
import type { Lab } from "../experiment.ts";
import { wrkLoad } from "../load/wrk.ts";
import { startMooring } from "../mooring.ts";
import type { Running } from "../stage.ts";
import { keepReply, startYardstick } from "../yardstick.ts";

const PUBLIC = "/api/public/settings";
const LOAD = "wrk, 32 keep-alive connections, HTTP/1.1";

/** `GET /api/public/settings` against servers that send the same bytes from a buffer. */
export const restPublic: Contest = {
  name: "rest-public",
  title: "GET /api/public/settings",
  load: LOAD,
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring", against: "Fastify", measure: "perSecond", target: { atLeast: 0.85 } },
    { of: "Mooring", against: "node:http", measure: "perSecond" },
  ],
  open: async (lab) => {
    const { server, port } = await startMooring(lab);
    const [mooring, reply] = await wrkSide(lab, "Mooring", server, { port, path: PUBLIC });
    const kept = keepReply(lab.stage, reply);
    const http = await startYardstick(lab.stage, "http.ts", [kept]);
    const [httpSide] = await wrkSide(lab, "node:http", http.server, {
      port: http.port,
      path: PUBLIC,
    });
    const fastify = await startYardstick(lab.stage, "fastify.ts", [PUBLIC, kept]);
    const job = { port: fastify.port, path: PUBLIC };
    const [fastifySide] = await wrkSide(lab, "Fastify", fastify.server, job);
    return [mooring, httpSide, fastifySide];
  },
};

/** One setting, with the token. */
export const restSetting: Contest = {
  name: "rest-setting",
  title: "GET /api/admin/setting/get?key=hide_files with token",
  load: LOAD,
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring", against: "node:http", measure: "perSecond", target: { atLeast: 0.62 } },
  ],
  open: async (lab) => {
    const { server, port, token } = await startMooring(lab);
    const job = {
      path: "/api/admin/setting/get?key=hide_files",
      headers: { Authorization: token },
    };
    const [mooring, reply] = await wrkSide(lab, "Mooring", server, { ...job, port });
    const http = await startYardstick(lab.stage, "http.ts", [keepReply(lab.stage, reply)]);
    const [httpSide] = await wrkSide(lab, "node:http", http.server, { ...job, port: http.port });
    return [mooring, httpSide];
  },
};

/** A side under wrk, after one real call that must succeed. */
export async function wrkSide(
  lab: Lab,
  name: string,
  server: Running,
  job: HttpRequest & { readonly body?: string },
): Promise<readonly [Side, HttpReply]> {
  const reply = await callHttp(job);
  if (reply.status !== 200)
    throw new Error(`${name} answered ${reply.status}: ${reply.body.toString().slice(0, 200)}`);
  return [
    serverSide(name, server, wrkLoad(lab.stage, job), { payloadBytes: reply.body.length }),
    reply,
  ];
}
