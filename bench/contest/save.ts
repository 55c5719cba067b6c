import { join } from "node:path";
import type { Contest, Side } from "../contest.ts";
import type { Lab } from "../experiment.ts";
import { addCustomSettings, startMooring } from "../mooring.ts";
import { startYardstick } from "../yardstick.ts";
import { wrkSide } from "./read.ts";

const PATH = "/api/admin/setting/save";
const YARDSTICK = "Fastify + sqlite";

/** Many clients that save one setting each, with shared commits. */
export const saveMany: Contest = {
  name: "save-64",
  title: "A save of one setting, 64 clients",
  load: "wrk, 64 keep-alive connections, HTTP/1.1 POST; every save has another value",
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring", against: YARDSTICK, measure: "perSecond", target: { atLeast: 0.45 } },
  ],
  open: (lab) => open(lab, 64),
};

/** Saves by one client: the waiting time of a user. */
export const saveOne: Contest = {
  name: "save-1",
  title: "A save of one setting, one client",
  load: "wrk, one keep-alive connection, HTTP/1.1 POST; every save has another value",
  needs: ["wrk"],
  comparisons: [
    { of: "Mooring", against: YARDSTICK, measure: "medianMillis", target: { atMost: 2 } },
  ],
  open: (lab) => open(lab, 1),
};

/** Mooring, and the lower bound of a save with only Fastify and SQLite. */
async function open(lab: Lab, clients: number): Promise<readonly Side[]> {
  const mooring = await startMooring(lab);
  await addCustomSettings(mooring, clients);
  const bare = await startYardstick(lab.stage, "save.ts", [PATH, join(lab.stage.folder(), "db")]);
  const job = {
    path: PATH,
    method: "POST",
    headers: { Authorization: mooring.token, "Content-Type": "application/json" },
    body: '[{"key":"bench_{client}","value":"bench-value-{number}"}]',
    clients,
    connections: clients,
  };
  const [own] = await wrkSide(lab, "Mooring", mooring.server, { ...job, port: mooring.port });
  const [other] = await wrkSide(lab, YARDSTICK, bare.server, { ...job, port: bare.port });
  return [own, other];
}
