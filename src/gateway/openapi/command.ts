import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  createFileRegistry,
  type DescService,
  type FileRegistry,
  fromBinary,
  type UnknownField,
} from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { type BesideRule, readRules, serviceConfigRules } from "../rest/rule.ts";
import { createOpenApi, type OpenApiOptions } from "./document.ts";
import type { Comments } from "./schema.ts";

const USAGE = `mooring-gateway openapi DESCRIPTORS [options]

Writes the OpenAPI 3.1 document of the google.api.http rules in a file of descriptors, a
google.protobuf.FileDescriptorSet, with the comments of the proto files. Make it with one of
  buf build -o library.binpb
  protoc --include_imports --include_source_info -o library.binpb …

  --service NAME       full name of a service; may be repeated (default: all with a rule, except
                       those of files that other files import; they are named on standard error)
  --title TEXT         default: the name of the service, or the package of several
  --api-version TEXT   default: 1
  --description TEXT   default: empty
  --server URL         URL of the gateway, with its prefix; may be repeated (default: .)
  --options FILE       members of OpenApiOptions in JSON: info, servers, securitySchemes
  --rules FILE         rules beside the contract: a service configuration in JSON
  --proto-names        members have the names of the proto files instead of JSON names
  --map-parameters     query parameters fill maps, as the gateway's option has it
  --out FILE           default: standard output
`;

/** Output of the command. */
export interface CommandOutput {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/**
 * The command of the package.
 *
 * @returns its exit status: 0, 1 for files that cannot be used, 2 for wrong arguments.
 */
export function runCommand(args: readonly string[], { out, err }: CommandOutput): 0 | 1 | 2 {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    err(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  const { values, positionals } = parsed;
  if (values.help) {
    out(USAGE);
    return 0;
  }
  const [command, file, ...rest] = positionals;
  if (command !== "openapi" || file === undefined || rest.length > 0) {
    err(USAGE);
    return 2;
  }
  try {
    const { document, leftOut } = createDocument(file, values);
    for (const { typeName } of leftOut)
      err(`left out: ${typeName}, of an imported file; --service ${typeName} adds it\n`);
    const text = `${JSON.stringify(document, null, 2)}\n`;
    if (values.out === undefined) out(text);
    else writeFileSync(values.out, text);
    return 0;
  } catch (error) {
    err(`${(error as Error).message}\n`);
    return 1;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      service: { type: "string", multiple: true },
      title: { type: "string" },
      "api-version": { type: "string" },
      description: { type: "string" },
      server: { type: "string", multiple: true },
      options: { type: "string" },
      rules: { type: "string" },
      "proto-names": { type: "boolean" },
      "map-parameters": { type: "boolean" },
      out: { type: "string" },
      help: { type: "boolean" },
    },
  });
}

function createDocument(file: string, values: ReturnType<typeof parse>["values"]) {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(file));
  const registry = createFileRegistry(set);
  const rules =
    values.rules === undefined
      ? undefined
      : serviceConfigRules(JSON.parse(readFileSync(values.rules, "utf8")));
  const find = (name: string): DescService => {
    const service = registry.getService(name);
    if (service === undefined) throw new Error(`${file} has no service ${name}`);
    return service;
  };
  const { services, leftOut } =
    values.service === undefined
      ? askedServices(registry, importsOf(set.file), rules)
      : { services: values.service.map(find), leftOut: [] };
  if (services.length === 0) throw new Error(`${file} has no service with a rule`);
  const document = createOpenApi({
    ...readOptions(values.options),
    services,
    target: UNREACHED,
    title: values.title ?? titleOf(services),
    version: values["api-version"] ?? "1",
    ...(values.description === undefined ? {} : { description: values.description }),
    ...(values.server === undefined ? {} : { servers: values.server }),
    comments: readComments(set.file),
    memberNames: values["proto-names"] ? "proto" : "json",
    mapParameters: values["map-parameters"] ?? false,
    ...(rules === undefined ? {} : { rules }),
  });
  return { document, leftOut };
}

/** Members of a file of options. */
const DATA_OPTIONS = ["info", "servers", "securitySchemes"] as const;

type DataOptions = Pick<OpenApiOptions, (typeof DATA_OPTIONS)[number]>;

function readOptions(file: string | undefined): DataOptions {
  if (file === undefined) return {};
  const options = JSON.parse(readFileSync(file, "utf8")) as object;
  const known: readonly string[] = DATA_OPTIONS;
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`${file}: ${unknown.join(", ")} is none of ${known.join(", ")}`);
  return options;
}

/** The services with a rule, and those among them that are left out because they are imported. */
function askedServices(
  registry: FileRegistry,
  imported: ReadonlySet<string>,
  rules: readonly BesideRule[] | undefined,
): { readonly services: DescService[]; readonly leftOut: DescService[] } {
  const all = [...registry].filter((desc) => desc.kind === "service");
  const ruled = all.filter(({ methods }) =>
    methods.some((method) => readRules(method, rules).rules.length > 0),
  );
  const isImported = ({ file }: DescService): boolean => imported.has(file.proto.name);
  return {
    services: ruled.filter((one) => !isImported(one)),
    leftOut: ruled.filter(isImported),
  };
}

/** Field of a file that buf writes, a message whose field 1 is true for an import. */
const BUF_EXTENSION = 8042;

/**
 * The files that are in a set because others import them. buf marks them; protoc does not: there
 * every file that another one imports counts.
 */
function importsOf(files: readonly FileDescriptorProto[]): ReadonlySet<string> {
  const marked = files.map(({ name, $unknown = [] }) => ({
    name,
    marks: $unknown.filter(({ no }) => no === BUF_EXTENSION),
  }));
  if (marked.some(({ marks }) => marks.length > 0))
    return new Set(marked.filter(({ marks }) => marks.some(isImportMark)).map(({ name }) => name));
  return new Set(files.flatMap(({ dependency }) => dependency));
}

function isImportMark({ data }: UnknownField): boolean {
  const reader = new BinaryReader(new BinaryReader(data).bytes());
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === 1 && wireType === WireType.Varint) return reader.bool();
    reader.skip(wireType, number);
  }
  return false;
}

/** The name of one service, or the packages of several. */
function titleOf(services: readonly DescService[]): string {
  const [first, ...others] = services;
  if (first === undefined || others.length === 0) return first?.name ?? "";
  return [...new Set(services.map(({ file }) => file.proto.package))].join(", ");
}

/** Transport for creating a document, which makes no calls. */
const UNREACHED: Transport = { unary: unreached, stream: unreached };

function unreached(): never {
  throw new Error("a document is generated without calls");
}

/**
 * The comments of services, methods, messages, fields and enums, by full name in alphabetical order.
 * Empty for files without source information.
 */
export function readComments(files: readonly FileDescriptorProto[]): Comments {
  const comments: Record<string, string> = {};
  for (const file of files) {
    const said = new Map(
      (file.sourceCodeInfo?.location ?? []).map((one) => [
        one.path.join("."),
        unwrapped(one.leadingComments.replace(/^ /gm, "").trim()),
      ]),
    );
    const note = (name: string, path: string): void => {
      const text = said.get(path);
      if (text) comments[name] = text;
    };
    const noteEnum = ({ name, value }: EnumDescriptorProto, scope: string, path: string): void => {
      note(`${scope}.${name}`, path);
      // Enum values are in the scope of their enum's parent (proto3, "Enumerations").
      for (const [index, one] of value.entries())
        note(`${scope}.${one.name}`, `${path}.2.${index}`);
    };
    const noteMessage = (message: DescriptorProto, scope: string, path: string): void => {
      const name = `${scope}.${message.name}`;
      note(name, path);
      for (const [index, one] of message.field.entries())
        note(`${name}.${one.name}`, `${path}.2.${index}`);
      for (const [index, one] of message.nestedType.entries())
        if (!one.options?.mapEntry) noteMessage(one, name, `${path}.3.${index}`);
      for (const [index, one] of message.enumType.entries())
        noteEnum(one, name, `${path}.4.${index}`);
    };
    for (const [index, one] of file.messageType.entries())
      noteMessage(one, file.package, `4.${index}`);
    for (const [index, one] of file.enumType.entries()) noteEnum(one, file.package, `5.${index}`);
    for (const [index, service] of file.service.entries()) {
      const name = `${file.package}.${service.name}`;
      note(name, `6.${index}`);
      for (const [at, method] of service.method.entries())
        note(`${name}.${method.name}`, `6.${index}.2.${at}`);
    }
  }
  return Object.fromEntries(
    Object.entries(comments).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** One line per paragraph and list item. */
function unwrapped(text: string): string {
  return text.replace(/(?<!\n)\n(?!\n|- )/g, " ");
}
