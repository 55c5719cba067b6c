import { chmodSync } from "node:fs";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { RUN_FOLDER } from "../../test/once.ts";
import { newestEtag, post, startWatcher } from "../../test/process/instance-load.ts";
import { type Experiment, type Lab, NotMeasurable, verdictOf } from "../experiment.ts";
import { type Mooring, startMooring } from "../mooring.ts";

const TOKEN = "bench-token-0123456789abcdefghijklmnopqr";
/** Number of changes whose delay to another instance is measured. */
const CHANGES = 60;

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
    const after = await newestEtag(from.port, TOKEN);
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
