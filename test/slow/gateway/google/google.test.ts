import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type DescMethod,
  type DescMethodClientStreaming,
  equals,
  type FileRegistry,
  fromJson,
  fromJsonString,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { Validator } from "@seriousme/openapi-schema-validator";
import { type FastifyInstance, fastify } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HttpRule } from "../../../../gen/google/api/http_pb.js";
import { restHandler } from "../../../../src/gateway/fetch.ts";
import { restGateway } from "../../../../src/gateway/gateway.ts";
import type { Method } from "../../../../src/gateway/method.ts";
import { createOpenApi } from "../../../../src/gateway/openapi/document.ts";
import { streaming, unary } from "../../../gateway/gateway-server.ts";
import { publishedServices, readGoogleProtos, rulesOf } from "./descriptors.ts";
import { type RuleRequest, requestOf } from "./request.ts";
import { sampleMessage } from "./sample.ts";

// All rpcs of the package google-proto-files that have a google.api.http rule, over both mounts.

const TIMEOUT = 10 * 60_000;

/** One service: its rpcs that are served, and the rules among them that others shadow. */
interface Service {
  readonly methods: readonly Method[];
  readonly app: FastifyInstance;
  readonly handler: (request: Request) => Promise<Response>;
}

interface Reply {
  readonly status: number;
  readonly text: string;
}

let registry: FileRegistry;
let rpcs: DescMethod[];
const services: Service[] = [];
const shadowed: string[] = [];
/** The calls of the current request. */
let calls: { readonly desc: DescMethod; readonly message: Message }[] = [];

const MOUNTS: readonly [
  name: string,
  send: (service: Service, asked: RuleRequest) => Promise<Reply>,
][] = [
  ["the Fastify plugin", ({ app }, asked) => sendToPlugin(app, asked)],
  ["restHandler", ({ handler }, asked) => sendToHandler(handler, asked)],
];

let current: FastifyInstance;
const server = createServer((incoming, response) => current.routing(incoming, response));
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  registry = await readGoogleProtos();
  const published = publishedServices(registry);
  rpcs = published.flatMap(({ methods }) => methods);
  for (const { methods } of published) await addService(methods.filter(isServed));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
}, TIMEOUT);

afterAll(() => {
  agent.destroy();
  server.close();
});

test("every rpc is bound except bidirectional streams", () => {
  const kinds = Map.groupBy(rpcs, ({ methodKind }) => methodKind);
  const counts = Object.fromEntries([...kinds].map(([kind, { length }]) => [kind, length]));
  expect(counts).toEqual({
    unary: 13_155,
    server_streaming: 66,
    client_streaming: 3,
    bidi_streaming: 13,
  });
});

test("a rule that an earlier one shadows is named", () => {
  const pairs = shadowed.map((text) => text.match(/^(\S+): .* never reached: (\S+) /)?.slice(1));
  const storage = "google.cloud.bigquery.storage";
  const writers = ["v1", "v1beta2"].map((version) => `${storage}.${version}.BigQueryWrite`);
  const readers = ["v1", "v1beta2"].map((version) => `${storage}.${version}.BigQueryRead`);
  const oldest = `${storage}.v1beta1.BigQueryStorage`;
  expect(pairs.sort()).toEqual(
    [
      ...[...readers, oldest].map((name) => [`${name}.SplitReadStream`, `${name}.ReadRows`]),
      ...["FinalizeWriteStream", "FlushRows"].flatMap((rpc) =>
        writers.map((name) => [`${name}.${rpc}`, `${name}.GetWriteStream`]),
      ),
    ].sort(),
  );
});

// Each of these has a rule `…/**`, and its service another one, `…/**/*`, which precedes it.
const AMBIGUOUS = ["v1", "v1beta1"].map(
  (version) => `google.firestore.${version}.Firestore.GetDocument`,
);

test.each(MOUNTS)(
  "over %s a request generated from each rule reaches its rpc once, with the values",
  async (_, send) => {
    const wrong: object[] = [];
    const ambiguous: string[] = [];
    let count = 0;
    for (const service of services) {
      for (const { desc } of service.methods) {
        for (const rule of rulesOf(desc)) {
          if (isShadowed(desc, rule)) continue;
          count++;
          const problem = await call(desc, rule, (asked) => send(service, asked));
          if (problem === undefined) continue;
          const rpc = `${desc.parent.typeName}.${desc.name}`;
          if (AMBIGUOUS.includes(rpc)) ambiguous.push(rpc);
          else wrong.push({ rpc, ...problem });
        }
      }
    }
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(ambiguous.sort()).toEqual(AMBIGUOUS);
    expect(count).toBe(15_307);
  },
  TIMEOUT,
);

test(
  "every service has a valid OpenAPI document",
  async () => {
    const validator = new Validator();
    const wrong: object[] = [];
    for (const { methods } of services) {
      const document = createOpenApi({ title: "T", version: "1", methods });
      const { valid, errors } = await validator.validate(document);
      if (!valid) wrong.push({ rpc: String(methods[0]?.desc), errors });
    }
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(services.length).toBe(SERVICES);
  },
  TIMEOUT,
);

/** Services with at least one rpc that is served. */
const SERVICES = 1_844;

function isServed({ methodKind }: DescMethod): boolean {
  return methodKind !== "bidi_streaming";
}

async function addService(descs: readonly DescMethod[]): Promise<void> {
  if (descs.length === 0) return;
  const methods = descs.map((desc) => {
    const reply = replyOf(desc);
    const note = (message: Message): void => void calls.push({ desc, message });
    if (desc.methodKind === "unary")
      return unary(desc, (message) => {
        note(message);
        return reply;
      });
    if (desc.methodKind === "client_streaming") return gathering(desc, note, reply);
    return streaming(desc, async function* (message) {
      note(message);
      yield reply;
    });
  });
  const app = fastify();
  const warn = (text: string): void => void shadowed.push(text);
  await app.register(restGateway, { methods, connect: false, grpcWeb: false, registry, warn });
  await app.ready();
  const handler = restHandler({
    methods,
    connect: false,
    grpcWeb: false,
    registry,
    warn: () => undefined,
  });
  services.push({ methods, app, handler });
}

function gathering(desc: DescMethod, note: (message: Message) => void, reply: Message): Method {
  return {
    kind: "client_streaming",
    desc: desc as DescMethodClientStreaming,
    invoke: async (messages) => {
      for await (const message of messages) note(message);
      return { message: reply };
    },
  };
}

function replyOf({ output }: DescMethod): Message {
  return fromJson(output, sampleMessage(output), { registry });
}

function isShadowed(desc: DescMethod, { pattern }: HttpRule): boolean {
  const path = pattern.case === "custom" ? pattern.value.path : pattern.value;
  const name = `${desc.parent.typeName}.${desc.name}: `;
  return shadowed.some((text) => text.startsWith(name) && text.includes(` ${path} `));
}

/**
 * Sends the request of a rule. Undefined: it has reached its rpc, and the reply has been received.
 */
async function call(
  desc: DescMethod,
  rule: HttpRule,
  send: (asked: RuleRequest) => Promise<Reply>,
): Promise<object | undefined> {
  const asked = requestOf(desc, rule, registry);
  calls = [];
  const { status, text } = await send(asked);
  const [only] = calls;
  const arrived =
    calls.length === 1 &&
    only?.desc === desc &&
    equals(desc.input, only.message, asked.message, { registry });
  if (arrived && status === 200 && isReply(desc, rule, text)) return undefined;
  const { message, ...parts } = asked;
  const reached = calls.map((one) => `${one.desc} ${textOf(one.desc, one.message)}`);
  return { ...parts, expected: textOf(desc, message), status, text, reached };
}

function textOf({ input }: DescMethod, message: Message): string {
  return JSON.stringify(toJson(input, message, { registry }));
}

/** Whether a text is the JSON of the sample reply; parts and raw bytes have other tests. */
function isReply(desc: DescMethod, rule: HttpRule, text: string): boolean {
  if (rule.responseBody !== "" || desc.output.typeName === "google.api.HttpBody") return true;
  const message = fromJsonString(desc.output, text, { registry });
  return equals(desc.output, message, replyOf(desc), { registry });
}

async function sendToHandler(
  handler: Service["handler"],
  { method, target, type, body }: RuleRequest,
): Promise<Reply> {
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  const request = new Request(`http://localhost${target}`, { method, headers, body: body ?? null });
  const response = await handler(request);
  return { status: response.status, text: await response.text() };
}

function sendToPlugin(app: FastifyInstance, asked: RuleRequest): Promise<Reply> {
  current = app;
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const { method, target: path, type, body } = asked;
  const headers = {
    ...(type === undefined ? {} : { "content-type": type }),
    ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
  };
  const { port } = server.address() as AddressInfo;
  const outgoing = request({ agent, host: "127.0.0.1", port, method, path, headers });
  outgoing.on("error", reject);
  outgoing.on("response", async (incoming) => {
    const parts = await incoming.toArray();
    resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(parts).toString() });
  });
  outgoing.end(body);
  return promise;
}
