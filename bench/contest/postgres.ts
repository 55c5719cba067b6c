import { chmodSync } from "node:fs";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { RUN_FOLDER } from "../../test/once.ts";
import { post, startWatcher } from "../../test/process/instance-load.ts";
import { type Contest, roundOf, type Side, serverSide, together } from "../contest.ts";
import { type Experiment, type Lab, NotMeasurable, verdictOf } from "../experiment.ts";
import { wrkLoad } from "../load/wrk.ts";
import { addCustomSettings, callAdmin, type Mooring, startMooring } from "../mooring.ts";
import { saveLoad } from "./save.ts";

const TOKEN = "bench-token-0123456789abcdefghijklmnopqr";
const CLIENTS = 64;
const [ONE, TWO, BARE] = ["one instance", "two instances", "one connection without Mooring"];
/** Number of changes whose delay to another instance is measured. */
const CHANGES = 60;

/** Reads with a token on PostgreSQL, which need no query. */
export const postgresRead: Contest = {
  name: "postgres-read",
  title: "GET /api/admin/setting/get with token, on PostgreSQL",
  load: "wrk, 8 keep-alive connections to each instance; the database's server on the load's core",
  needs: ["wrk"],
  comparisons: [
    { of: ONE, against: "SQLite", measure: "cpuPerRequest", target: { atMost: 1.2 } },
    { of: TWO, against: ONE, measure: "cpuPerRequest", target: { atMost: 1.2 } },
  ],
  open: async (lab) => {
    const [one, other] = await startInstances(lab);
    const sqlite = await startMooring(lab, { token: TOKEN });
    const load = ({ port }: Mooring) =>
      wrkLoad(lab.stage, {
        port,
        connections: 8,
        headers: { authorization: TOKEN },
        path: "/api/admin/setting/get?key=site_title",
      });
    return [
      serverSide(ONE, one.server, load(one)),
      serverSide(TWO, one.server, together(load(one), load(other)), { behind: [other.server] }),
      serverSide("SQLite", sqlite.server, load(sqlite)),
    ];
  },
};

/** Saves on PostgreSQL: concurrent ones share a commit. */
export const postgresSave: Contest = {
  name: "postgres-save",
  title: "SaveSettings of one item, on PostgreSQL",
  load: `own HTTP/2 client, ${CLIENTS} connections with one call in flight each; every call another value`,
  needs: [],
  comparisons: [
    { of: ONE, against: "one client", measure: "perSecond", target: { atLeast: 10 } },
    { of: TWO, against: ONE, measure: "perSecond" },
    { of: "one client", against: BARE, measure: "perSecond" },
  ],
  open: async (lab) => {
    const [one, other, url] = await startInstances(lab);
    await addCustomSettings(one, CLIENTS);
    const half = CLIENTS / 2;
    const both = together(saveLoad(lab, one, half), saveLoad(lab, other, half, half));
    return [
      serverSide(ONE, one.server, saveLoad(lab, one, CLIENTS)),
      serverSide(TWO, one.server, both, { behind: [other.server] }),
      serverSide("one client", one.server, saveLoad(lab, one, 1)),
      commitSide(url),
    ];
  },
};

/** Yardstick of PostgreSQL itself: one connection that commits the change of one row. */
function commitSide(url: string): Side {
  return {
    name: BARE,
    run: async (seconds) => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query("create table if not exists yardstick (id int primary key, n bigint)");
      await client.query("insert into yardstick values (1, 0) on conflict do nothing");
      const began = performance.now();
      let requests = 0;
      for (; performance.now() < began + seconds * 1_000; requests += 1)
        await client.query({ name: "commit", text: "update yardstick set n = n + 1 where id = 1" });
      const elapsed = (performance.now() - began) / 1_000;
      await client.end();
      return roundOf({ requests, seconds: elapsed }, 0);
    },
  };
}

/** From the reply of a save to its event at another instance. */
export const postgresChange: Experiment = {
  name: "postgres-change",
  title: "A change reaches another instance on the same PostgreSQL server",
  needs: [],
  measure: async (lab) => {
    const [from, to] = await startInstances(lab);
    const agent = new Agent({ keepAlive: true });
    const save = async (): Promise<void> => {
      const body = [{ key: "announcement", value: `${performance.now()}` }];
      if (!(await post(agent, { port: from.port, token: TOKEN, body })))
        throw new Error("a save failed");
    };
    await save();
    const after = await revisionOf(from);
    const watcher = startWatcher([{ port: () => to.port }], { first: 0, after, token: TOKEN });
    await sleep(1_000);
    const times: number[] = [];
    for (let change = 0; change < (lab.quick ? 10 : CHANGES); change += 1) {
      const seen = watcher.times.length;
      await save();
      const answered = performance.now();
      while (watcher.times.length === seen) await sleep(1);
      // The event may arrive before the reply.
      times.push(Math.max(0, (watcher.times[seen] ?? 0) - answered));
      await sleep(30 + Math.random() * 100);
    }
    await watcher.stop();
    agent.destroy();
    return {
      load: "one save after the other at one instance, one watch stream at another",
      columns: ["", "changes"],
      rows: [["timed", String(times.length)]],
      verdicts: [verdictOf("from the reply to the event", times, " ms", { atMost: 20 })],
      figures: times,
    };
  },
};

async function revisionOf(mooring: Mooring): Promise<number> {
  const { data } = await callAdmin(mooring, "/api/admin/setting/get?key=announcement");
  return Number((data as { readonly revision: string }).revision);
}

/**
 * Starts a separate PostgreSQL server on the core of the load, and two instances on it.
 *
 * @returns both, and the URL of their database.
 */
async function startInstances(lab: Lab): Promise<readonly [Mooring, Mooring, string]> {
  const { hasPostgres, startPostgres } = await import("../../test/store/postgres/server.ts");
  if (!hasPostgres)
    throw new NotMeasurable("PostgreSQL is not installed (Debian: apt-get install postgresql)");
  const folder = lab.stage.folder();
  // An unprivileged user initialises the server there.
  chmodSync(folder, 0o755);
  process.env[RUN_FOLDER] = folder;
  const server = await startPostgres({ isDurable: true });
  lab.stage.onClose(() => server.remove());
  const url = await server.newDatabase();
  const options = { token: TOKEN, environment: { MOORING_DATABASE_URL: url } };
  return [await startMooring(lab, options), await startMooring(lab, options), url];
}
