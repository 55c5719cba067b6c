import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  create,
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type JsonValue,
  type Message,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { fastify } from "fastify";
import { beforeEach, expect, test } from "vitest";
import { restHandler } from "../../../../src/gateway/fetch.ts";
import { restGateway } from "../../../../src/gateway/gateway.ts";
import { needs } from "../../../downloaders/program.ts";
import { send, unary } from "../../../gateway/door.ts";
import { KIND_NAMES, kindOf, PEERS } from "./kinds.ts";
import { type Answer, buildPeers, type Reached, startPeers } from "./peers.ts";
import { createGenerator, createRandom, type Generated, toBytes } from "./request.ts";

// The same requests to grpc-gateway, vanguard and this gateway, each in front of rpcs that return their
// request. An outcome is that of both peers; where it is not, the difference from each peer is one of the
// kinds in differences.md.

beforeEach(needs("go"));

const COUNT = Number(process.env["MOORING_TEST_DIFFERENTIAL"] ?? 6_000);
const SEED = Number(process.env["MOORING_TEST_DIFFERENTIAL_SEED"] ?? 777);
/** A first build compiles a hundred packages. */
const TIMEOUT = 25 * 60_000;

const documented = readFileSync(join(import.meta.dirname, "../differences.md"), "utf8");

test("differs from grpc-gateway and vanguard only as differences.md says", {
  timeout: TIMEOUT,
}, async () => {
  const { registry, methods } = readContract(await buildPeers());
  const own = await startOwn(methods);
  const peers = startPeers();
  const next = createGenerator(createRandom(SEED));
  const counts = new Map<string, number>();
  const unexplained: object[] = [];
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  for (let index = 0; index < COUNT; index++) {
    const request = next();
    const others = await peers.ask(toBytes(request));
    const mine = outcome(await own.ask(request), registry);
    if (isFetchable(request)) {
      const handled = outcome(await own.askHandler(request), registry);
      if (handled !== mine) unexplained.push({ peer: "restHandler", ...request, mine, handled });
    }
    const theirs = {
      "grpc-gateway": outcome(others.gateway, registry),
      vanguard: outcome(others.vanguard, registry),
    };
    for (const peer of PEERS) {
      if (theirs[peer] === mine) count(`as ${peer}`);
      else {
        const kind = kindOf({ request, mine, theirs: theirs[peer], peer });
        count(kind ?? "unexplained");
        if (kind === undefined) unexplained.push({ peer, ...request, mine, theirs: theirs[peer] });
      }
    }
  }
  peers.close();
  await own.close();
  process.stdout.write(`differential: ${JSON.stringify(Object.fromEntries([...counts].sort()))}\n`);
  expect(unexplained.slice(0, 40)).toEqual([]);
  const kinds = [...documented.matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
  expect(kinds.length).toBeLessThanOrEqual(30);
  // Every kind is documented, and still occurs.
  expect(kinds.toSorted()).toEqual(KIND_NAMES.toSorted());
  expect(kinds.filter((name) => !counts.has(name ?? ""))).toEqual([]);
});

function readContract(path: string): { registry: Registry; methods: DescMethod[] } {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(path));
  const registry = createFileRegistry(set);
  const service = registry.getService("peer.v1.PeerService");
  if (service === undefined) throw new Error("the contract has no service");
  return { registry, methods: service.methods };
}

/** The gateway as a plugin and as a handler of the fetch API, in front of the same rpcs. */
async function startOwn(descs: readonly DescMethod[]) {
  let reached: Reached | undefined;
  const answer = (desc: DescMethod, request: Message): Message => {
    reached = { method: desc.name, message: toBinary(desc.input, request) };
    const fields = request as unknown as Record<string, unknown>;
    if (desc.name === "Fail") throw failure(Number(fields["i32"]), String(fields["s"]));
    if (desc.name !== "Download") return request;
    const data = Buffer.from(String(fields["name"]));
    return create(desc.output, { contentType: "text/x-file", data } as Record<string, unknown>);
  };
  const options = {
    methods: descs.map((desc) => unary(desc, (request) => answer(desc, request))),
    connect: false,
  };
  const app = fastify();
  // Fastify reads the body of a request that no route takes, and may refuse it before its 404.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  await app.register(restGateway, options);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const handler = restHandler(options);
  return {
    close: () => app.close(),
    ask: async ({ method, target, body, type }: Generated): Promise<Answer> => {
      reached = undefined;
      const headers = type === undefined ? {} : { "content-type": type };
      const reply = await send(port, target, { method, headers, body });
      const { status, raw } = reply;
      return { status, type: reply.headers["content-type"] ?? "", body: raw, reached };
    },
    askHandler: async ({ method, target, body, type }: Generated): Promise<Answer> => {
      reached = undefined;
      const headers = type === undefined ? {} : { "content-type": type };
      const init = { method, headers, ...(body === undefined ? {} : { body: Buffer.from(body) }) };
      const reply = await handler(new Request(`http://localhost${target}`, init));
      const raw = Buffer.from(await reply.arrayBuffer());
      const contentType = reply.headers.get("content-type") ?? "";
      return { status: reply.status, type: contentType, body: raw, reached };
    },
  };
}

/** Whether the fetch API can send a request: a GET has no body there. */
function isFetchable({ method, body }: Generated): boolean {
  return body === undefined || method !== "GET";
}

function failure(code: number, message: string): Error {
  return code >= 1 && code <= 16 ? new ConnectError(message, code) : new ConnectError(message, 2);
}

/** One line of what has come of a request: refused with a status, or what reached which rpc. */
function outcome({ status, type, body, reached }: Answer, registry: Registry): string {
  if (reached === undefined) return `refused ${status}`;
  const isDownload = /^(?:Raw|Download)$/.test(reached.method);
  const desc = registry.getMessage(inputOf(reached.method)) as DescMessage;
  const message = messageText(desc, reached, registry);
  const reply =
    isDownload && status === 200 ? `${type} ${body.toString("base64")}` : replyOf(body, status);
  return `${reached.method} ${message} -> ${status} ${reply}`;
}

/** A message as JSON; in binary where it has no JSON, such as a mask that no JSON name stands for. */
function messageText(desc: DescMessage, { message }: Reached, registry: Registry): string {
  try {
    return stable(toJson(desc, fromBinary(desc, message), { registry }));
  } catch {
    return Buffer.from(message).toString("base64");
  }
}

function inputOf(method: string): string {
  if (method === "Raw") return "google.api.HttpBody";
  return method === "Upload" || method === "Download" ? "peer.v1.File" : "peer.v1.All";
}

function replyOf(body: Buffer, status: number): string {
  try {
    const json = JSON.parse(body.toString()) as JsonValue;
    return status === 200 ? stable(json) : stable({ code: (json as { code: number }).code });
  } catch {
    return body.toString();
  }
}

/** JSON with sorted members, without those that are null: the peers write unset messages so. */
function stable(json: JsonValue): string {
  return JSON.stringify(json, (_name, value: unknown) => {
    if (typeof value === "string") return value.replace(/(T[\d:]+\.\d*?)0+(?=Z$)/, "$1");
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    const members = Object.entries(value).filter(([, one]) => one !== null);
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
