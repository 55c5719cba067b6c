import { Agent } from "node:http";
import { callHttp, type HttpReply, type HttpRequest } from "../call.ts";
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
  readonly asked: Promise<void>[] = [];
  failed = 0;
}

export function startWitness({ port, token, save, controlPort }: WitnessOptions): Witness {
  const agent = new Agent({ keepAlive: true, localAddress: ADDRESS, scheduling: "lifo" });
  let seen = new Seen();
  const ask = (kind: "ping" | "save" | "control", call: HttpRequest): void => {
    const into = seen;
    const begun = performance.now();
    const end = (isGood: boolean): void => {
      into[kind].push(performance.now() - begun);
      if (!isGood) into.failed += 1;
    };
    const isGood = ({ body }: HttpReply) => /^pong$|"code":200/.test(body.toString());
    into.asked.push(
      callHttp({ ...call, agent }).then(
        (reply) => end(isGood(reply)),
        () => end(false),
      ),
    );
  };
  const headers = { authorization: token, "content-type": "application/json" };
  const saving = { port, path: "/api/admin/setting/save", method: "POST", headers, body: save };
  const pings = setInterval(() => {
    ask("ping", { port, path: "/ping" });
    ask("control", { port: controlPort, path: "/" });
  }, PING_EVERY);
  const saves = setInterval(() => ask("save", saving), SAVE_EVERY);
  const timesOf = (all: readonly number[]): Times => ({
    p50: quantile(all, 0.5),
    p99: quantile(all, 0.99),
  });
  return {
    look: async () => {
      const past = seen;
      seen = new Seen();
      await Promise.all(past.asked);
      return {
        ping: timesOf(past.ping),
        save: timesOf(past.save),
        control: timesOf(past.control),
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
