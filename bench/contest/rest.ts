import type { Contest } from "../contest.ts";
import { callHttp, type HttpReply, type HttpRequest } from "../http-call.ts";
import type { Lab } from "../lab.ts";
import { wrkLoad } from "../load/wrk.ts";
import { startMooring } from "../mooring.ts";
import { until } from "../port.ts";
import { keepReply } from "../reply.ts";
import { type Side, serverSide } from "../side.ts";
import type { Running } from "../stage.ts";
import { startYardstick } from "../yardstick.ts";

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
    const http = await startYardstick(lab.stage, "http.ts", kept);
    const [httpSide] = await wrkSide(lab, "node:http", http.server, {
      port: http.port,
      path: PUBLIC,
    });
    const fastify = await startYardstick(lab.stage, "fastify.ts", PUBLIC, kept);
    const job = { port: fastify.port, path: PUBLIC };
    const [fastifySide] = await wrkSide(lab, "Fastify", fastify.server, job);
    return [mooring, httpSide, fastifySide];
  },
};

/** The same with `If-None-Match`: answering "unchanged" must not cost more than answering. */
export const restUnchanged: Contest = {
  name: "rest-304",
  title: "GET /api/public/settings with If-None-Match",
  load: LOAD,
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring 304", against: "Mooring 200", measure: "perSecond", target: { atLeast: 1 } },
  ],
  open: async (lab) => {
    const { server, port } = await startMooring(lab);
    const [full, { headers }] = await wrkSide(lab, "Mooring 200", server, { port, path: PUBLIC });
    const job = { port, path: PUBLIC, headers: { "If-None-Match": headers.etag ?? "" } };
    const [unchanged] = await wrkSide(lab, "Mooring 304", server, job, 304);
    return [unchanged, full];
  },
};

/** The same as browsers ask for it: compressed. */
export const restCompressed: Contest = {
  name: "rest-compressed",
  title: "GET /api/public/settings, compressed",
  load: LOAD,
  needs: ["wrk"],
  long: true,
  comparisons: [
    { of: "Mooring br", against: "Mooring identity", measure: "perSecond" },
    { of: "Mooring gzip", against: "Mooring identity", measure: "perSecond" },
  ],
  open: async (lab) => {
    const { server, port } = await startMooring(lab);
    const sides = await Promise.all(
      ["br", "gzip", "identity"].map(async (coding) => {
        const job = { port, path: PUBLIC, headers: { "Accept-Encoding": coding } };
        await untilCoded(job, coding);
        const [side] = await wrkSide(lab, `Mooring ${coding}`, server, job);
        return side;
      }),
    );
    return sides;
  },
};

/** Compressed replies are made in the background: the first ones come as they are. */
async function untilCoded(job: HttpRequest, coding: string): Promise<void> {
  const coded = async () =>
    ((await callHttp(job)).headers["content-encoding"] ?? "identity") === coding;
  await until(coded, () => `${job.path} never comes in ${coding}`, { patience: 5_000 });
}

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
    const http = await startYardstick(lab.stage, "http.ts", keepReply(lab.stage, reply));
    const [httpSide] = await wrkSide(lab, "node:http", http.server, { ...job, port: http.port });
    return [mooring, httpSide];
  },
};

/** A side under wrk, after one real call that must have this status. */
export async function wrkSide(
  lab: Lab,
  name: string,
  server: Running,
  job: HttpRequest & { readonly body?: string },
  status = 200,
): Promise<readonly [Side, HttpReply]> {
  const reply = await callHttp(job);
  if (reply.status !== status)
    throw new Error(`${name} answered ${reply.status}: ${reply.body.toString().slice(0, 200)}`);
  return [serverSide(name, server, wrkLoad(lab.stage, job), reply.body.length), reply];
}
