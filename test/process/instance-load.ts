import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** An instance of the service, from its clients' point of view. */
export interface Reachable {
  port(): number;
}

/** Saving clients, with the acknowledged values of each. */
export interface Savers {
  /** The last acknowledged value by key; each client counts up from 1. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** Resolves when this number of further saves has been acknowledged. */
  more(count: number): Promise<void>;
  stop(): Promise<void>;
}

export interface SaversOptions {
  readonly count: number;
  readonly token: string;
  /** Pause of each client after a save, in milliseconds. Default: none. */
  readonly pause?: number;
}

/** Starts clients that save one value after the other, each on the instances in turn. */
export function startSavers(
  instances: readonly Reachable[],
  { count, token, pause = 0 }: SaversOptions,
): Savers {
  const acknowledged = new Map<string, number>();
  const stopping = new AbortController();
  let saves = 0;
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const run = async (client: number): Promise<void> => {
    const key = `client-${client}`;
    // A value whose save has an unknown outcome is not sent again.
    for (let value = 1, at = client; !stopping.signal.aborted; value += 1) {
      const port = instances[at % instances.length]?.port() ?? 0;
      const saved = await post(agent, { port, token, body: [{ key, value: String(value) }] });
      if (saved) {
        acknowledged.set(key, value);
        saves += 1;
        if (pause > 0) await sleep(pause);
        continue;
      }
      // Unreachable: continue with the next one.
      at += 1;
      await sleep(20);
    }
  };
  const running = Array.from({ length: count }, (_, client) => run(client));
  return {
    acknowledged,
    more: async (wanted) => {
      const from = saves;
      while (saves < from + wanted) await sleep(10);
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
      agent.destroy();
    },
  };
}

/** Saves. @returns whether it was acknowledged. */
export function post(
  agent: Agent,
  { port, token, body }: { readonly port: number; readonly token: string; readonly body: unknown },
): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request({
      host: "127.0.0.1",
      port,
      agent,
      method: "POST",
      path: "/api/admin/setting/save",
      headers: { authorization: token, "content-type": "application/json" },
      timeout: 10_000,
    });
    sent.on("timeout", () => sent.destroy());
    sent.on("error", () => resolve(false));
    sent.on("response", (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      reply.on("error", () => resolve(false));
      reply.on("end", () => resolve(text.includes('"code":200')));
    });
    sent.end(JSON.stringify(body));
  });
}

/** A client that watches an instance, and resumes on another one after its end. */
export interface Watcher {
  /** The received revisions, in order. */
  readonly revisions: readonly number[];
  /** Times of their receipt, of `performance.now()`. */
  readonly times: readonly number[];
  /** Resolves when a revision has been received. */
  reaches(revision: number): Promise<void>;
  stop(): Promise<void>;
}

/** Etag of the newest state. */
export async function newestEtag(port: number, token: string): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/mooring.v1.SettingService/ListSettings`, {
    method: "POST",
    headers: { authorization: token, "content-type": "application/json" },
    body: "{}",
  });
  return ((await reply.json()) as { readonly etag: string }).etag;
}

/** Starts to watch after the state with an etag. */
export function startWatcher(
  instances: readonly Reachable[],
  {
    first,
    after,
    token,
  }: { readonly first: number; readonly after: string; readonly token: string },
): Watcher {
  const revisions: number[] = [];
  let etag = after;
  const times: number[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;
  const watchOnce = async (port: number): Promise<void> => {
    const reply = await fetch(
      `http://127.0.0.1:${port}/api/admin/setting/watch?after_etag=${etag}`,
      { headers: { authorization: token }, signal },
    );
    let text = "";
    for await (const chunk of reply.body ?? []) {
      text += Buffer.from(chunk).toString();
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        // A bookmark has no changes.
        const [, known = etag, revision] =
          /^id: [^\n]*?((\d+)(?:\.[0-9a-f]{16})?)$/m.exec(event) ?? [];
        etag = known;
        if (revision === undefined || !event.includes('"changes"')) continue;
        revisions.push(Number(revision));
        times.push(performance.now());
      }
    }
  };
  const run = async (): Promise<void> => {
    for (let at = first; !signal.aborted; at += 1) {
      const port = instances[at % instances.length]?.port() ?? 0;
      await watchOnce(port).catch(() => undefined);
      await sleep(20);
    }
  };
  const running = run();
  return {
    revisions,
    times,
    reaches: async (revision) => {
      while ((revisions.at(-1) ?? 0) < revision) await sleep(10);
    },
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}
