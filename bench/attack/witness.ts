import { Agent } from "node:http";
import { callHttp, type HttpRequest } from "../call.ts";
import { quantile } from "../statistics.ts";

/** Address of the well-behaved client, which no attacker has. */
const ADDRESS = "127.0.0.2";
/** Interval of requests in milliseconds, independent of answers. */
const PING_EVERY = 10;
const SAVE_EVERY = 100;

/** In milliseconds; NaN: no measurement. */
interface Times {
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

/** Reply to a request of the client. */
interface Answer {
  readonly kind: "ping" | "save" | "control";
  readonly millis: number;
  readonly isGood: boolean;
}

/** @param controlPort port of a server that is not attacked: its times are those of the machine. */
export function startWitness(
  { port, token }: { readonly port: number; readonly token: string },
  controlPort: number,
): Witness {
  const agent = new Agent({ keepAlive: true, localAddress: ADDRESS, scheduling: "lifo" });
  let asked: Promise<Answer>[] = [];
  const ask = async (kind: Answer["kind"], call: HttpRequest): Promise<Answer> => {
    const begun = performance.now();
    const body = await callHttp({ ...call, agent }).then(
      (reply) => reply.body.toString(),
      () => "",
    );
    const isGood = /^pong$|"code":200/.test(body);
    return { kind, millis: performance.now() - begun, isGood };
  };
  const save = {
    port,
    path: "/api/admin/setting/save",
    method: "POST",
    headers: { authorization: token, "content-type": "application/json" },
    body: JSON.stringify([{ key: "site_title", value: "v".repeat(20) }]),
  };
  const pings = setInterval(() => {
    asked.push(ask("ping", { port, path: "/ping" }));
    asked.push(ask("control", { port: controlPort, path: "/ping" }));
  }, PING_EVERY);
  const saves = setInterval(() => asked.push(ask("save", save)), SAVE_EVERY);
  return {
    look: async () => {
      const past = asked;
      asked = [];
      const answers = await Promise.all(past);
      const timesOf = (kind: Answer["kind"]): Times => {
        const times = answers.filter((one) => one.kind === kind).map(({ millis }) => millis);
        return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
      };
      return {
        ping: timesOf("ping"),
        save: timesOf("save"),
        control: timesOf("control"),
        failed: answers.filter(({ isGood }) => !isGood).length,
      };
    },
    close: () => {
      clearInterval(pings);
      clearInterval(saves);
      agent.destroy();
    },
  };
}
