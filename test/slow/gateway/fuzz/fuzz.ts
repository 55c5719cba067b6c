import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { fromJson, type Message } from "@bufbuild/protobuf";
import { fastify } from "fastify";
import { restGateway } from "../../../../src/gateway/gateway.ts";
import type { Method } from "../../../../src/gateway/method.ts";
import { createBindings } from "../../../../src/gateway/rest/binding.ts";
import { RuleError } from "../../../../src/gateway/rest/rule.ts";
import { defineRpcs } from "../../../gateway/contract.ts";
import { streaming, unary } from "../../../gateway/gateway-server.ts";
import { createRandom } from "../../../random.ts";
import { makeRequest, type RawRequest } from "./request.ts";
import { makeRpcs, names, type Rule, rulesOf } from "./rules.ts";

const RPCS = 24;
const REQUESTS = 300;
/** A slower reply is a hang. */
const PATIENCE_MS = 20_000;
/** Permitted growth of memory after the first round. */
const MAX_GROWTH = 48 * 2 ** 20;

/** Counts over the rounds. */
export interface Tally {
  rounds: number;
  requests: number;
  reached: number;
  /** Replies by status; 0: the connection ended without one. */
  readonly statuses: Map<number, number>;
}

export function createTally(): Tally {
  return { rounds: 0, requests: 0, reached: 0, statuses: new Map() };
}

/** A request that violated a rule of the fuzzer. */
export class Finding extends Error {
  override readonly name = "Finding";
}

/**
 * One round: a gateway with random rules, and random requests to it.
 *
 * @throws Finding for an error other than RuleError at the start, a reply of 500, an error that the
 * gateway reports, a missing reply at the time limit, and a request that reaches an rpc without a
 * matching rule.
 */
export async function fuzzRound(seed: number, tally: Tally): Promise<void> {
  const random = createRandom(seed);
  const rpcs = makeRpcs(random, RPCS);
  const reached: string[] = [];
  const errors: unknown[] = [];
  const methods = defineRpcs(rpcs)
    .map((desc): Method => {
      const reply = fromJson(desc.output, { word: "w", names: ["a"], labels: { a: "b" } });
      const note = (message: Message): Message => {
        reached.push(desc.name);
        // A decoded request can be encoded.
        JSON.stringify(message, (_, value) => (typeof value === "bigint" ? String(value) : value));
        return reply;
      };
      if (desc.methodKind === "unary") return unary(desc, note);
      return streaming(desc, async function* (message) {
        yield note(message);
      });
    })
    .filter(binds);
  const rules = rulesOf(rpcs).filter(({ rpc }) => methods.some(({ desc }) => desc.name === rpc));
  const app = fastify();
  const report = (error: unknown): void => void errors.push(error);
  await app.register(restGateway, {
    methods,
    connect: false,
    grpcWeb: false,
    report,
    warn: () => {},
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  try {
    for (let index = 0; index < REQUESTS; index++) {
      const request = makeRequest(random, rules);
      reached.length = 0;
      const status = await send(port, request);
      tally.requests++;
      tally.reached += reached.length;
      tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
      judge(request, { status, reached, errors, rules });
    }
  } finally {
    app.server.closeAllConnections();
    await app.close();
  }
  tally.rounds++;
}

function binds(method: Method): boolean {
  try {
    return createBindings(method).length > 0;
  } catch (error) {
    if (error instanceof RuleError) return false;
    throw error;
  }
}

interface Outcome {
  readonly status: number;
  readonly reached: readonly string[];
  readonly errors: readonly unknown[];
  readonly rules: readonly Rule[];
}

function judge(request: RawRequest, { status, reached, errors, rules }: Outcome): void {
  const shown = JSON.stringify(Buffer.concat(request.writes).toString("latin1"));
  const fail = (reason: string): never => {
    throw new Finding(`${reason}: ${shown}`);
  };
  if (errors.length > 0) fail(`an unexpected error (${String((errors[0] as Error).stack)})`);
  if (status === 500) fail("500");
  if (status === 0 && !request.cut) fail("no reply");
  if (reached.length > 1) fail("several calls");
  const [rpc] = reached;
  if (rpc === undefined) return;
  const { method, path } = request;
  if (request.cut) fail(`${rpc} is called by a request that was cut off`);
  if (rules.some((rule) => rule.rpc === rpc && names(rule, method, path))) return;
  const own = rules
    .filter((rule) => rule.rpc === rpc)
    .map((one) => `${one.httpMethod} ${one.template}`);
  fail(`${rpc} (${own.join(", ")}) is called`);
}

/** Sends a request; returns the status of the reply, 0 without one. */
function send(port: number, { writes, cut }: RawRequest): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = connect(port, "127.0.0.1");
  let head = "";
  socket.setTimeout(PATIENCE_MS, () => {
    socket.destroy();
    reject(new Finding(`no end: ${JSON.stringify(Buffer.concat(writes).toString("latin1"))}`));
  });
  // The reply, and the end of the connection, may precede the end of the request.
  socket.on("error", () => {});
  socket.on("data", (data) => {
    if (head.length < 1_024) head += data.toString("latin1");
  });
  socket.on("close", () => {
    const [status] = [...head.matchAll(/^HTTP\/1\.1 ([2-5]\d\d) /gm)].map(([, code]) =>
      Number(code),
    );
    resolve(status ?? 0);
  });
  socket.on("connect", async () => {
    for (const write of writes) {
      await new Promise<void>((done) => socket.write(write, () => done()));
    }
    if (cut) socket.end();
  });
  return promise;
}

/** Bytes in use by JavaScript and buffers, after a collection. */
export function memoryInUse(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** @throws Finding for memory that has grown since the first round, and stays. */
export async function checkMemory(before: number): Promise<void> {
  if (memoryInUse() - before <= MAX_GROWTH) return;
  // Timers of finished requests keep them until then.
  await sleep(PATIENCE_MS);
  const growth = memoryInUse() - before;
  if (growth > MAX_GROWTH)
    throw new Finding(`memory has grown by ${Math.round(growth / 2 ** 20)} MB`);
}
