import { callHttp } from "../call.ts";
import { type Contest, experimentOf } from "../contest.ts";
import { type Experiment, type Lab, type Verdict, verdictOf } from "../experiment.ts";
import { startYardstick } from "../yardstick.ts";
import { wrkSide } from "./read.ts";

const PATH = "/v1/projects/p1/things/77?pageSize=10&filter=abc&showAll=true";
/** Number of bindings besides the called one: about as many as Google publishes. */
const OTHERS = 13_000;
const CROWDED = "gateway, 13,000 other rules";

const contest: Contest = {
  name: "gateway",
  title: "A GET with two path variables and three query parameters, as a google.api.http rule",
  load: "wrk, 32 keep-alive connections, HTTP/1.1",
  needs: ["wrk"],
  comparisons: [
    { of: "gateway", against: "Fastify", measure: "perSecond", target: { atLeast: 0.8 } },
    { of: CROWDED, against: "gateway", measure: "perSecond", target: { atLeast: 0.9 } },
  ],
  open: (lab) =>
    Promise.all([
      open(lab, "gateway", "gateway", "0"),
      open(lab, CROWDED, "gateway", String(OTHERS)),
      open(lab, "Fastify", "fastify"),
    ]),
};

async function open(lab: Lab, name: string, ...args: readonly string[]) {
  const { server, port } = await startYardstick(lab.stage, "gateway.ts", args);
  const [side] = await wrkSide(lab, name, server, { port, path: PATH });
  return side;
}

const comparison = experimentOf(contest);

/** The gateway against a Fastify route that parses the same, and the time for many rules. */
export const gateway: Experiment = {
  ...comparison,
  measure: async (lab) => {
    const finding = await comparison.measure(lab);
    return { ...finding, verdicts: [...finding.verdicts, await startVerdict(lab)] };
  },
};

async function startVerdict(lab: Lab): Promise<Verdict> {
  const times: number[] = [];
  for (let start = 0; start < lab.plan.times; start++) {
    const args = ["gateway", String(OTHERS)];
    const { server, port } = await startYardstick(lab.stage, "gateway.ts", args);
    times.push(Number((await callHttp({ port, path: "/start" })).body));
    await server.stop();
  }
  return verdictOf("CPU time to register 13,000 rules", times, " ms", { atMost: 500 });
}
