import {
  create,
  createFileRegistry,
  createRegistry,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
  type Message,
} from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";
import { file_google_api_annotations } from "../../gen/google/api/annotations_pb.js";
import { file_mooring_rest_v1_rest } from "../../gen/mooring/rest/v1/rest_pb.js";

/** An rpc of the test contract: its name and REST options, in the JSON form of the protos. */
export interface Rpc {
  readonly name: string;
  readonly http?: JsonObject;
  readonly rest?: JsonObject;
  /** Default: `Thing`. */
  readonly input?: "Thing" | "Nothing";
  readonly streams?: "reply" | "request" | "both";
  readonly reads?: boolean;
}

/**
 * Descriptors of a service with these rpcs, made at run time: each has the request Thing and the
 * reply Box. A Thing has one field of every kind.
 */
export function defineRpcs(rpcs: readonly Rpc[]): DescMethod[] {
  const file = fromJson(FileDescriptorProtoSchema, fileJson(rpcs), { registry: EXTENSIONS });
  const registry = createFileRegistry(file, (name) => IMPORTS.get(name));
  const service = registry.getService("test.v1.ThingService");
  if (!service) throw new Error("the test contract has no service");
  return service.methods;
}

/** The rpcs of a contract by their names. */
export function rpcsByName(rpcs: readonly Rpc[]): (name: string) => DescMethod {
  const byName = new Map(defineRpcs(rpcs).map((desc) => [desc.name, desc]));
  return (name) => {
    const found = byName.get(name);
    if (found === undefined) throw new Error(`the test contract has no rpc ${name}`);
    return found;
  };
}

/** A message with these fields. */
export const made = (desc: DescMessage, fields: object): Message => create(desc, fields as never);

/** The only rpc of a contract. */
export function defineRpc(rpc: Partial<Rpc>): DescMethod {
  const [method] = defineRpcs([{ name: "GetThing", ...rpc }]);
  if (!method) throw new Error("the test contract has no rpc");
  return method;
}

const EXTENSIONS = createRegistry(file_google_api_annotations, file_mooring_rest_v1_rest);

const IMPORTS = new Map([
  ["google/protobuf/struct.proto", file_google_protobuf_struct],
  ["google/protobuf/timestamp.proto", file_google_protobuf_timestamp],
  ["google/protobuf/wrappers.proto", file_google_protobuf_wrappers],
]);

let contracts = 0;

function fileJson(rpcs: readonly Rpc[]): JsonObject {
  contracts++;
  return {
    name: `test/v1/thing_${contracts}.proto`,
    package: "test.v1",
    syntax: "proto3",
    dependency: [...IMPORTS.keys()],
    enumType: [{ name: "Color", value: [value("COLOR_UNSPECIFIED", 0), value("COLOR_RED", 1)] }],
    messageType: [thing(), part(), box(), { name: "Nothing" }],
    service: [{ name: "ThingService", method: rpcs.map(method) }],
  };
}

function method(rpc: Rpc): JsonObject {
  const options: JsonObject = {
    ...(rpc.http && { "[google.api.http]": rpc.http }),
    ...(rpc.rest && { "[mooring.rest.v1.rest]": rpc.rest }),
    ...(rpc.reads && { idempotencyLevel: "NO_SIDE_EFFECTS" }),
  };
  return {
    name: rpc.name,
    inputType: `.test.v1.${rpc.input ?? "Thing"}`,
    outputType: ".test.v1.Box",
    serverStreaming: rpc.streams === "reply" || rpc.streams === "both",
    clientStreaming: rpc.streams === "request" || rpc.streams === "both",
    options,
  };
}

function thing(): JsonObject {
  const fields = [
    field("text", "STRING", 1),
    field("small", "INT32", 2),
    field("big", "INT64", 3),
    field("count", "UINT32", 4),
    field("yes", "BOOL", 5),
    field("ratio", "DOUBLE", 6),
    field("approx", "FLOAT", 7),
    field("raw", "BYTES", 8),
    field("color", "ENUM", 9, { typeName: ".test.v1.Color" }),
    field("numbers", "INT32", 10, REPEATED),
    field("words", "STRING", 11, REPEATED),
    field("part", "MESSAGE", 12, { typeName: ".test.v1.Part" }),
    field("parts", "MESSAGE", 13, { ...REPEATED, typeName: ".test.v1.Part" }),
    field("labels", "MESSAGE", 14, { ...REPEATED, typeName: ".test.v1.Thing.LabelsEntry" }),
    field("at", "MESSAGE", 15, { typeName: ".google.protobuf.Timestamp" }),
    field("note", "MESSAGE", 16, { typeName: ".google.protobuf.StringValue" }),
    field("left", "STRING", 17, { oneofIndex: 0 }),
    field("right", "INT32", 18, { oneofIndex: 0 }),
    field("huge", "UINT64", 19),
    field("part_name", "STRING", 20),
    field("expected", "INT64", 21, { oneofIndex: 1, proto3Optional: true }),
    field("seen", "STRING", 22, { oneofIndex: 2, proto3Optional: true }),
    field("info", "MESSAGE", 24, { typeName: ".google.protobuf.Struct", oneofIndex: 0 }),
    field("ranks", "MESSAGE", 23, { ...REPEATED, typeName: ".test.v1.Thing.RanksEntry" }),
  ];
  return {
    name: "Thing",
    field: fields,
    oneofDecl: [{ name: "side" }, { name: "_expected" }, { name: "_seen" }],
    nestedType: [entry("LabelsEntry", "STRING", "STRING"), entry("RanksEntry", "INT32", "BOOL")],
  };
}

function part(): JsonObject {
  const inner = field("part", "MESSAGE", 3, { typeName: ".test.v1.Part" });
  return { name: "Part", field: [field("name", "STRING", 1), field("size", "INT64", 2), inner] };
}

function box(): JsonObject {
  const fields = [
    field("thing", "MESSAGE", 1, { typeName: ".test.v1.Thing" }),
    field("names", "STRING", 2, REPEATED),
    field("labels", "MESSAGE", 3, { ...REPEATED, typeName: ".test.v1.Box.LabelsEntry" }),
    field("word", "STRING", 4),
    field("revision", "INT64", 5),
    field("version", "STRING", 6),
    field("yes", "BOOL", 7),
  ];
  return { name: "Box", field: fields, nestedType: [entry("LabelsEntry", "STRING", "STRING")] };
}

export const REPEATED = { label: "LABEL_REPEATED" };

/** A field in the JSON form of the protos. */
export function field(
  name: string,
  type: string,
  number: number,
  more: JsonObject = {},
): JsonObject {
  const jsonName = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { name, jsonName, number, type: `TYPE_${type}`, label: "LABEL_OPTIONAL", ...more };
}

function entry(name: string, key: string, valueType: string): JsonObject {
  const fields = [field("key", key, 1), field("value", valueType, 2)];
  return { name, field: fields, options: { mapEntry: true } };
}

function value(name: string, number: number): JsonObject {
  return { name, number };
}
