import type { Contest } from "../contest.ts";
import type { Lab } from "../lab.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import type { Side } from "../side.ts";
import { makeToken, startWithTokens } from "../token.ts";
import { wrkSide } from "./rest.ts";

const PATH = "/api/admin/setting/get?key=hide_files";
const LOAD = "wrk, 32 keep-alive connections, HTTP/1.1; all tokens at one server";
/** How much a look-up may still grow: what a run moves by itself. */
const FLAT = 1.2;
/** What a token of a principal may cost more than the permanent one, in microseconds of CPU time. */
const DEARER = 2;

const [SCOPED, LIMITED, ROOT] = ["scoped token", "limited token", "permanent token"];

/** What it costs to know who calls, and what they may. */
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

const COUNTS = [100, 100_000];

/** One token out of more and more. */
export const growthTokens: Contest = {
  name: "growth-tokens",
  title: "The same with a scoped token out of 100 and of 100,000",
  load: "wrk, 32 keep-alive connections, HTTP/1.1",
  needs: ["wrk"],
  comparisons: [
    {
      of: labelOf(100_000),
      against: labelOf(100),
      measure: "cpuPerRequest",
      target: { atMost: FLAT },
    },
  ],
  open: async (lab) => {
    const sides: Side[] = [];
    for (const count of COUNTS.toReversed()) {
      const { mooring, token } = await startWithTokens(lab, count);
      sides.push(await callSide(lab, labelOf(count), mooring, token));
    }
    return sides;
  },
};

function labelOf(count: number): string {
  return `${count.toLocaleString("en-US")} tokens`;
}

async function callSide(lab: Lab, name: string, mooring: Mooring, token: string): Promise<Side> {
  const { server, port } = mooring;
  const job = { port, path: PATH, headers: { Authorization: token } };
  return (await wrkSide(lab, name, server, job))[0];
}
