// Yardstick: one GET with two path variables and three query parameters, as a rule of the gateway
// or as a Fastify route with the same checks and reply. Arguments: port, `gateway` or `fastify`,
// and the number of other bindings. `/start` has the milliseconds of CPU time that registering them
// took.
import {
  createFileRegistry,
  createRegistry,
  type DescMethodUnary,
  fromJson,
  type JsonObject,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import fastify from "fastify";
import { file_google_api_annotations } from "../../gen/google/api/annotations_pb.js";
import { type Method, restGateway } from "../../src/gateway/entry.ts";

const FIELDS = [
  ["project", "STRING"],
  ["id", "INT64"],
  ["page_size", "INT32"],
  ["filter", "STRING"],
  ["show_all", "BOOL"],
  ["name", "STRING"],
] as const;

const [port = "0", kind = "gateway", others = "0"] = process.argv.slice(2);
const app = fastify({ ajv: { customOptions: { formats: { long: isInt64 } } } });
let millis = 0;
app.get("/start", () => millis);
const rpcs = kind === "fastify" ? [] : methods(Number(others));
const began = process.cpuUsage();
if (kind === "fastify") addRoute();
else await app.register(restGateway, { methods: rpcs, connect: false, grpcWeb: false });
await app.ready();
const { user, system } = process.cpuUsage(began);
millis = (user + system) / 1_000;
// Node writes a profile at the end of the process, but not after a signal.
process.once("SIGTERM", () => process.exit());
await app.listen({ port: Number(port), host: "127.0.0.1" });

function addRoute(): void {
  const text = { type: "string" };
  // JSON numbers cannot represent an int64.
  const long = { type: "string", format: "long" };
  const number = { type: "integer", minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
  const params = { type: "object", properties: { project: text, id: long } };
  const querystring = {
    type: "object",
    properties: { pageSize: number, filter: text, showAll: { type: "boolean" } },
    // Fastify removes other parameters, which the gateway ignores.
    additionalProperties: false,
  };
  const reply = {
    type: "object",
    properties: { ...params.properties, ...querystring.properties, name: text },
  };
  const schema = { params, querystring, response: { 200: reply } };
  app.get("/v1/projects/:project/things/:id", { schema }, async (request, answer) => {
    answer.header("cache-control", "no-store");
    return { ...(request.params as object), ...(request.query as object), name: "" };
  });
}

function isInt64(text: string): boolean {
  if (!/^-?\d{1,19}$/.test(text)) return false;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value;
}

/** Measured rpc, and others with paths like Google's. */
function methods(count: number): Method[] {
  const rules = Array.from({ length: count }, (_, index) => {
    const path = `projects/*/locations/*/kind${index >> 2}s/*`;
    return [
      { get: `/v1/{name=${path}}` },
      { delete: `/v1/{name=${path}}` },
      { post: `/v1/{name=${path}}:cancel`, body: "*" },
      { get: `/v1/{name=${path}}/items` },
    ][index & 3] as JsonObject;
  });
  const main = { get: "/v1/projects/{project}/things/{id}" };
  const file = fromJson(
    FileDescriptorProtoSchema,
    {
      name: "bench.proto",
      package: "bench",
      syntax: "proto3",
      messageType: [{ name: "Thing", field: FIELDS.map(fieldJson) }],
      service: [{ name: "ThingService", method: [main, ...rules].map(methodJson) }],
    },
    { registry: createRegistry(file_google_api_annotations) },
  );
  const service = createFileRegistry(file, () => undefined).getService("bench.ThingService");
  return (service?.methods ?? []).map((desc) => ({
    kind: "unary",
    desc: desc as DescMethodUnary,
    invoke: async (message) => ({ message }),
  }));
}

function fieldJson([name, type]: (typeof FIELDS)[number], index: number): JsonObject {
  const jsonName = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { name, jsonName, number: index + 1, type: `TYPE_${type}`, label: "LABEL_OPTIONAL" };
}

function methodJson(http: JsonObject, index: number): JsonObject {
  const options = { "[google.api.http]": http };
  return { name: `Rpc${index}`, inputType: ".bench.Thing", outputType: ".bench.Thing", options };
}
