import { Agent, request } from "node:http";
import { quantile } from "../statistics.ts";

/** Address of the well-behaved client, which no attacker has. */
const ADDRESS = "127.0.0.2";
/** Interval of requests in milliseconds, independent of answers. */
const PING_EVERY = 10;
const SAVE_EVERY = 100;

/** In milliseconds; NaN: no measurement. */
export interface Times {
  readonly p50: number;
  readonly p99: number;
}

/** Measurements of a well-behaved client. */
export interface Experience {
  readonly ping: Times;
  readonly save: Times;
  /** `ping` of the control server. */
  readonly control: Times;
  /** Number of failed calls. */
  readonly failed: number;
}

/** Well-behaved client that measures response times. */
export interface Witness {
  /** Measurements since the last call, after all requests are answered. */
  look(): Promise<Experience>;
  close(): void;
}

export interface WitnessOptions {
  readonly port: number;
  readonly token: string;
  /** Body of its saves. */
  readonly save: string;
  readonly controlPort: number;
}

/** Times between two reports. */
class Seen {
  readonly ping: number[] = [];
  readonly save: number[] = [];
  readonly control: number[] = [];
  readonly waiting = new Set<Promise<void>>();
  failed = 0;
}

export function startWitness({ port, token, save, controlPort }: WitnessOptions): Witness {
  const agent = new Agent({ keepAlive: true, localAddress: ADDRESS, scheduling: "lifo" });
  let seen = new Seen();
  const ask = (kind: "ping" | "save" | "control", options: object, body = ""): void => {
    const into = seen;
    const begun = performance.now();
    const { promise, resolve } = Promise.withResolvers<void>();
    into.waiting.add(promise);
    const end = (good: boolean): void => {
      if (!into.waiting.delete(promise)) return;
      into[kind].push(performance.now() - begun);
      if (!good) into.failed += 1;
      resolve();
    };
    const outgoing = request({ host: "127.0.0.1", port, agent, timeout: 60_000, ...options });
    outgoing.on("error", () => end(false)).on("timeout", () => void outgoing.destroy());
    outgoing.on("response", (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      reply.on("end", () => end(/^pong$|"code":200/.test(text))).on("error", () => end(false));
    });
    outgoing.end(body);
  };
  const headers = { authorization: token, "content-type": "application/json" };
  const saving = { path: "/api/admin/setting/save", method: "POST", headers };
  const pings = setInterval(() => {
    ask("ping", { path: "/ping" });
    ask("control", { port: controlPort });
  }, PING_EVERY);
  const saves = setInterval(() => ask("save", saving, save), SAVE_EVERY);
  return {
    look: async () => {
      const past = seen;
      seen = new Seen();
      await Promise.all(past.waiting);
      const times = (all: readonly number[]): Times => ({
        p50: quantile(all, 0.5),
        p99: quantile(all, 0.99),
      });
      return {
        ping: times(past.ping),
        save: times(past.save),
        control: times(past.control),
        failed: past.failed,
      };
    },
    close: () => {
      clearInterval(pings);
      clearInterval(saves);
      agent.destroy();
    },
  };
}
