import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { finish, spendTokens, stories } from "../../mounts/site/crash.ts";
import { driverByName, openDesk, SITE } from "../../mounts/site/desk.ts";
import { startStorages } from "../../mounts/site/stand-in.ts";
import { storedSite } from "../../store/site-contract.ts";
import type { Task } from "./round-process.ts";

const PROGRAM = join(import.meta.dirname, "round-process.ts");
/**
 * Milliseconds between a stage of the server and the end of Mooring: the next step takes about one.
 */
const DELAYS = [0, 0, 1, 1, 2, 2, 3, 4];
const RUNS = 500;

/** A process that has not begun yet: the next one starts while the current one works. */
function launch(): ChildProcess {
  return fork(PROGRAM, { stdio: "inherit" });
}

test("kill -9 in create, change and delete leaves no mount emptied or incomplete after the next round", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-kill-"));
  const wrong: string[] = [];
  let [runs, kills] = [0, 0];
  let waiting = launch();
  try {
    for (let turn = 0; kills < RUNS; turn += 1) {
      const delay = DELAYS[turn % DELAYS.length] ?? 0;
      for (const story of stories)
        for (let at = 1; ; at += 1) {
          const site = await startStorages(driverByName);
          const file = join(folder, `${runs}.db`);
          const store = await openSqliteStore(file);
          await store.sites.insert(storedSite(SITE), []);
          const newest = spendTokens(site);
          const first = await openDesk(site, { store: store.mountStates });
          first.wanted = [...story.before];
          await first.round();
          first.close();
          const old = structuredClone(site.row("/films"));
          const child = waiting;
          waiting = launch();
          const ended = once(child, "exit");
          let [stage, isKilled] = [0, false];
          site.hold = async () => {
            stage += 1;
            if (stage !== at) return;
            isKilled = true;
            if (delay === 0) child.kill("SIGKILL");
            else setTimeout(() => child.kill("SIGKILL"), delay);
            // Without a delay the server continues when its client is gone.
            if (delay === 0) await ended;
          };
          const { url, token } = site;
          child.send({ url, token, file, wanted: story.after } satisfies Task);
          const [code, signal] = (await ended) as [number | null, string | null];
          // A process that is not killed ends by itself, without an error.
          if (signal !== "SIGKILL") expect(code).toBe(0);
          site.hold = undefined;
          runs += 1;
          if (isKilled) {
            // It may have ended before.
            if (signal === "SIGKILL") kills += 1;
            const failure = await finish(site, store.mountStates, story, old, newest);
            if (failure !== "") wrong.push(`${story.name}, stage ${at}, ${delay} ms: ${failure}`);
          }
          await store.close();
          await site.stop();
          await rm(file, { force: true });
          if (!isKilled) break;
        }
    }
    expect(wrong).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(RUNS);
  } finally {
    waiting.kill("SIGKILL");
    await rm(folder, { recursive: true });
  }
}, 1_800_000);
