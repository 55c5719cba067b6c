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
import type { GatewayOptions } from "../../../../src/gateway/options.ts";
import { needs } from "../../../downloaders/program.ts";
import { send, streaming, unary } from "../../../gateway/gateway-server.ts";
import { createRandom } from "../../../random.ts";
import { KIND_NAMES, kindOf, PEERS } from "./kinds.ts";
import { createMessageGenerator } from "./message.ts";
import { type Answer, buildPeers, type Reached, startPeers } from "./peers.ts";
import { createGenerator, type Generated, toBytes } from "./request.ts";

// The same requests to grpc-gateway, vanguard and this gateway, each in front of rpcs that return
// their request. An outcome equals that of both peers, or its difference from each peer is one of
// the kinds in differences.md. grpc-gateway always sets the update mask of a PATCH: this gateway
// does so in its comparison with grpc-gateway, and not in that with vanguard.

beforeEach(needs("go"));

const COUNT = Number(process.env["MOORING_TEST_DIFFERENTIAL"] ?? 6_000);
const SEED = Number(process.env["MOORING_TEST_DIFFERENTIAL_SEED"] ?? 777);
const SERVICE = "peer.v1.PeerService";
/** A first build compiles a hundred packages. */
const TIMEOUT = 25 * 60_000;

const documented = readFileSync(join(import.meta.dirname, "../differences.md"), "utf8");

test("the gateway differs from grpc-gateway and vanguard only as differences.md describes", {
  timeout: TIMEOUT,
}, async () => {
  const { registry, methods } = readContract(await buildPeers());
  const own = await startOwn(methods, { fillUpdateMask: false });
  const filling = await startOwn(methods, { fillUpdateMask: true });
  const peers = startPeers();
  const requests = createRequests(registry);
  const counts = new Map<string, number>();
  const unexplained: object[] = [];
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const request of requests) {
    const others = await peers.ask(toBytes(request));
    const plain = outcome(await own.ask(request), registry);
    const isPatch = request.method === "PATCH";
    const filled = isPatch ? outcome(await filling.ask(request), registry) : plain;
    if (isFetchable(request)) {
      const handled = outcome(await own.askHandler(request), registry);
      if (handled !== plain)
        unexplained.push({ peer: "restHandler", ...request, mine: plain, handled });
    }
    const theirs = {
      "grpc-gateway": outcome(others.gateway, registry),
      vanguard: outcome(others.vanguard, registry),
    };
    for (const peer of PEERS) {
      const mine = peer === "vanguard" ? plain : filled;
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
  await filling.close();
  process.stdout.write(`differential: ${JSON.stringify(Object.fromEntries([...counts].sort()))}\n`);
  expect(unexplained.slice(0, 40)).toEqual([]);
  const kinds = [...documented.matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
  expect(kinds.length).toBeLessThanOrEqual(30);
  // Every kind is documented, and still occurs.
  expect(kinds.toSorted()).toEqual(KIND_NAMES.toSorted());
  expect(kinds.filter((name) => !counts.has(name ?? ""))).toEqual([]);
});

/** Requests of both generators, and those of the peers' own tests. */
function* createRequests(registry: Registry): Iterable<Generated> {
  const next = createGenerator(createRandom(SEED));
  for (let index = 0; index < COUNT; index++) yield next();
  const all = registry.getMessage("peer.v1.All");
  if (all === undefined) throw new Error("the contract has no message All");
  const nextMessage = createMessageGenerator(all, createRandom(SEED));
  for (let index = 0; index < COUNT / 2; index++) yield nextMessage();
  for (const { query, differs } of cases.queries) {
    // Differences that only these cases show have no kind.
    if (differs !== undefined && !KIND_NAMES.includes(differs)) continue;
    // Parameters of maps are an option here, and a list of wrappers ends the process of vanguard.
    if (/\[|^rws=/.test(query)) continue;
    yield { method: "GET", target: `/v1/query?${query}`, body: undefined, type: undefined };
  }
  for (const { body, differs } of cases.masks)
    if (differs === undefined)
      yield {
        method: "PATCH",
        target: "/v1/things/a",
        body: JSON.stringify(body),
        type: "application/json",
      };
}

interface PeerCases {
  readonly queries: readonly { readonly query: string; readonly differs?: string }[];
  readonly masks: readonly { readonly body: JsonValue; readonly differs?: string }[];
}

const cases: PeerCases = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../gateway/peers/cases.json"), "utf8"),
);

function readContract(path: string): { registry: Registry; methods: DescMethod[] } {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(path));
  const registry = createFileRegistry(set);
  const service = registry.getService(SERVICE);
  if (service === undefined) throw new Error("the contract has no service");
  return { registry, methods: service.methods };
}

/** The gateway as a plugin and as a handler of the Fetch API, in front of the same rpcs. */
async function startOwn(
  descs: readonly DescMethod[],
  reading: Pick<GatewayOptions, "fillUpdateMask">,
) {
  let reached: Reached | undefined;
  const note = (desc: DescMethod, request: Message): void => {
    reached = { method: desc.name, message: toBinary(desc.input, request) };
  };
  const answer = (desc: DescMethod, request: Message): Message => {
    note(desc, request);
    const fields = request as unknown as Record<string, unknown>;
    if (desc.name === "Fail") throw failure(Number(fields["i32"]), String(fields["s"]));
    if (desc.name !== "Download") return request;
    return httpBody(desc, String(fields["name"]));
  };
  const options = {
    methods: descs.map((desc) =>
      desc.methodKind === "server_streaming"
        ? streaming(desc, (request) => {
            note(desc, request);
            return messagesOf(desc, request);
          })
        : unary(desc, (request) => answer(desc, request)),
    ),
    connect: false,
    grpcWeb: false,
    ...reading,
  };
  const app = fastify();
  // Fastify reads the body of a request without a route, and may refuse it before its 404.
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

/** The messages of a stream, as main.go sends them. */
async function* messagesOf(desc: DescMethod, request: Message): AsyncGenerator<Message> {
  const { name, i32, oi = 0 } = request as unknown as Record<string, string | number>;
  if (desc.name === "Chunks") {
    for (const text of [String(name), "; end"]) yield httpBody(desc, text);
    return;
  }
  const count = desc.name === "Stream" && i32 !== 0 ? Math.min(Number(i32), 3) : 2;
  for (let index = 0; index < count; index++) yield request;
  const code = Number(oi);
  if (desc.name === "Stream" && code >= 1 && code <= 16) throw new ConnectError("stopped", code);
}

function httpBody({ output }: DescMethod, text: string): Message {
  const fields = { contentType: "text/x-file", data: Buffer.from(text) };
  return create(output, fields as Record<string, unknown>);
}

/** Whether the Fetch API can send a request: a GET cannot have a body. */
function isFetchable({ method, body }: Generated): boolean {
  return body === undefined || method !== "GET";
}

function failure(code: number, message: string): Error {
  return code >= 1 && code <= 16 ? new ConnectError(message, code) : new ConnectError(message, 2);
}

/**
 * Result of a request in one line: its error status, or the rpc and the message that reached it.
 */
function outcome({ status, type, body, reached }: Answer, registry: Registry): string {
  if (reached === undefined) return `refused ${status}`;
  const isDownload = /^(?:Raw|Download|Chunks)$/.test(reached.method);
  const method = registry.getService(SERVICE)?.methods.find(({ name }) => name === reached.method);
  if (method === undefined) throw new Error(reached.method);
  const message = messageText(method.input, reached, registry);
  let reply = replyOf(body, status);
  if (isDownload && status === 200) reply = `${type} ${body.toString("base64")}`;
  else if (method.methodKind === "server_streaming" && !isOwnError(body, status))
    reply = lines(body);
  return `${reached.method} ${message} -> ${status} ${reply}`;
}

/** A message as JSON; in binary if it has no JSON, such as a mask without JSON names. */
function messageText(desc: DescMessage, { message }: Reached, registry: Registry): string {
  try {
    return stable(toJson(desc, fromBinary(desc, message), { registry }));
  } catch {
    return Buffer.from(message).toString("base64");
  }
}

/** Whether a stream has failed before its first message with the error as the whole reply. */
function isOwnError(body: Buffer, status: number): boolean {
  return status !== 200 && "code" in (JSON.parse(body.toString()) as object);
}

/** The messages of a stream, a line each. */
function lines(body: Buffer): string {
  return body.toString().trim().split("\n").map(line).join("\n");
}

function line(text: string): string {
  if (text === "") return "";
  const { error, ...message } = JSON.parse(text) as Record<string, JsonValue>;
  if (error === undefined) return stable(message);
  return stable({ error: { code: (error as { readonly code: number }).code } });
}

function replyOf(body: Buffer, status: number): string {
  try {
    const json = JSON.parse(body.toString()) as JsonValue;
    return status === 200 ? stable(json) : stable({ code: (json as { code: number }).code });
  } catch {
    return body.toString();
  }
}

/** JSON with sorted members, without null ones: the peers write unset messages as null. */
function stable(json: JsonValue): string {
  return JSON.stringify(json, (_name, value: unknown) => {
    if (typeof value === "string") return value.replace(/(T[\d:]+\.\d*?)0+(?=Z$)/, "$1");
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    const members = Object.entries(value).filter(([, one]) => one !== null);
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
