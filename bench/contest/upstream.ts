import type { Contest } from "../contest.ts";
import type { Lab } from "../lab.ts";
import { wrkLoad } from "../load/wrk.ts";
import { SMALL, startFronted } from "../nginx.ts";
import { cpuMicros } from "../proc.ts";
import { roundOf, type Side } from "../side.ts";
import type { Running } from "../stage.ts";
import { wrkSide } from "./rest.ts";

/** A small request that is passed to the server behind, against the same request sent to it. */
export const upstreamRequest: Contest = {
  name: "upstream",
  title: `GET ${SMALL} of nginx, directly and through Mooring in front of it`,
  load: "wrk, 32 keep-alive connections, HTTP/1.1; CPU time of Mooring and nginx together",
  needs: ["wrk", "nginx"],
  comparisons: [
    {
      of: "through Mooring",
      against: "nginx",
      measure: "cpuPerRequest",
      by: "difference",
      target: { atMost: 100 },
    },
  ],
  open: async (lab) => {
    const { nginx, mooring } = await startFronted(lab);
    const [direct] = await wrkSide(lab, "nginx", nginx.server, { port: nginx.port, path: SMALL });
    const { port } = mooring;
    const [, { body }] = await wrkSide(lab, "Mooring", mooring.server, { port, path: SMALL });
    return [throughSide(lab, mooring.port, [mooring.server, nginx.server], body.length), direct];
  },
};

/** @param servers every process that a request passes; the first one is profiled. */
function throughSide(
  lab: Lab,
  port: number,
  servers: readonly [Running, Running],
  payloadBytes: number,
): Side {
  const load = wrkLoad(lab.stage, { port, path: SMALL });
  const used = (): number => servers.reduce((sum, { pid }) => sum + cpuMicros(pid), 0);
  return {
    name: "through Mooring",
    server: servers[0],
    payloadBytes,
    run: async (seconds) => {
      const before = used();
      const result = await load(seconds);
      return roundOf(result, used() - before);
    },
  };
}
