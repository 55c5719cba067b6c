import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { postgresServer } from "../../src/database/postgres/server.ts";
import { openPostgresStore } from "../../src/store/postgres/store.ts";
import { expectAudited } from "../store/audit-contract.ts";
import { http1Sender } from "../wire/transport/http.ts";
import {
  newestEtag,
  type Savers,
  startSavers,
  startWatcher,
  type Watcher,
} from "./instance-load.ts";
import { type MooringProcess, startedMooring, TOKEN, testFolder } from "./mooring.ts";

const CLIENTS = 64;

/** An instance in a separate process. */
export interface Instance extends MooringProcess {
  again(): Promise<void>;
}

/** Starts instances that can be restarted in their place after a kill. */
export async function startInstances(url: string, count: number): Promise<Instance[]> {
  const folder = await testFolder();
  const start = (at: number): Promise<MooringProcess> =>
    startedMooring({
      folder,
      env: {
        MOORING_ADMIN_TOKEN: TOKEN,
        MOORING_DATABASE_URL: url,
        MOORING_DATA_DIR: join(folder, String(at)),
      },
    });
  return Promise.all(
    Array.from({ length: count }, async (_, at) => {
      let now = await start(at);
      const again = async (): Promise<void> => {
        now = await start(at);
      };
      return new Proxy({} as Instance, {
        get: (_target, name) => (name === "again" ? again : Reflect.get(now, name)),
      });
    }),
  );
}

/** Three instances with savers, and a watcher at each. */
export interface Load {
  readonly url: string;
  readonly instances: readonly Instance[];
  readonly savers: Savers;
  readonly watchers: readonly Watcher[];
}

/** @param pause pause of a client after a save, in milliseconds. */
export async function startLoad(url: string, pause = 0): Promise<Load> {
  const instances = await startInstances(url, 3);
  const after = await newestEtag(instances[0]?.port() ?? 0, TOKEN);
  const watchers = instances.map((_, first) =>
    startWatcher(instances, { first, after, token: TOKEN }),
  );
  const savers = startSavers(instances, { count: CLIENTS, token: TOKEN, pause });
  onTestFinished(async () => {
    await savers.stop();
    await Promise.all(watchers.map((watcher) => watcher.stop()));
  });
  await savers.more(200);
  return { url, instances, savers, watchers };
}

/** Invariants after any sequence of failures. */
export async function checkLoad({ url, instances, savers, watchers }: Load): Promise<void> {
  await savers.stop();
  const store = await openPostgresStore(postgresServer(url, "test"));
  onTestFinished(() => store.close());
  const { revision, records: settings } = await store.load();
  const commits = await store.commits(0, revision, revision);
  const all = commits.map((commit) => commit.revision);
  expect(all).toEqual(Array.from({ length: revision }, (_, at) => at + 1));
  await expectAudited(store.audit, all);
  const values = new Map<string, Set<string | null>>();
  for (const { changes } of commits)
    for (const { key, newBody: newValue } of changes)
      values.set(key, (values.get(key) ?? new Set()).add(newValue));
  for (const [key, last] of savers.acknowledged) {
    expect(values.get(key), `the last save of ${key}`).toContain(String(last));
    const kept = settings.find((setting) => setting.key === key)?.body;
    expect(Number(kept), key).toBeGreaterThanOrEqual(last);
  }
  for (const watcher of watchers) {
    await watcher.reaches(revision);
    expect(watcher.revisions).toEqual(all.slice(1));
  }
  const shown = await Promise.all(
    instances.map(async (instance) => {
      const send = http1Sender(instance.port());
      return (await send("/api/admin/setting/list", { headers: { authorization: TOKEN } })).json;
    }),
  );
  for (const one of shown) expect(one).toEqual(shown[0]);
  // A client that continues with an ended token is soon throttled.
  await Promise.all(watchers.map((watcher) => watcher.stop()));
  await checkReset(instances, instances.length);
}

/**
 * Resets the token on each instance in turn: after the reply, no instance accepts the old token.
 */
export async function checkReset(instances: readonly Instance[], rounds: number): Promise<void> {
  const codes = (token: string): Promise<number[]> =>
    Promise.all(instances.map((instance) => codeAt(instance, token)));
  const each = (code: number): number[] => instances.map(() => code);
  let token = TOKEN;
  for (let round = 0; round < rounds; round += 1) {
    const by = instances[round % instances.length];
    if (by === undefined) throw new Error("no instance");
    const next = await resetAt(by, token);
    expect(await codes(token)).toEqual(each(401));
    token = next;
    expect(await codes(token)).toEqual(each(200));
  }
}

/** Resets the token at an instance. @returns the new one. */
export async function resetAt(instance: Instance, token: string): Promise<string> {
  const reply = await http1Sender(instance.port())("/api/admin/setting/reset_token", {
    method: "POST",
    headers: { authorization: token },
  });
  expect(reply.json).toMatchObject({ code: 200 });
  return (reply.json as { readonly data: string }).data;
}

/** Reply of an instance to a read with a token. */
export async function codeAt(instance: Instance, token: string): Promise<number> {
  const headers = { authorization: token };
  const { json } = await http1Sender(instance.port())("/api/admin/setting/list", { headers });
  return (json as { readonly code: number }).code;
}
