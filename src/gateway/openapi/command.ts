import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createFileRegistry, type DescService, fromBinary } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { serviceConfigRules } from "../rest/rule.ts";
import { createOpenApi } from "./document.ts";
import type { Comments } from "./schema.ts";

const USAGE = `mooring-gateway openapi DESCRIPTORS [options]

Writes the OpenAPI 3.1 document of the google.api.http rules in a file of descriptors, a
google.protobuf.FileDescriptorSet, with the comments of the proto files. Make it with one of
  buf build -o library.binpb
  protoc --include_imports --include_source_info -o library.binpb …

  --service NAME       full name of a service; may be repeated (default: all that are in the file)
  --title TEXT         default: the name of the first service
  --api-version TEXT   default: 1
  --rules FILE         rules beside the contract: a service configuration in JSON
  --proto-names        members have the names of the proto files instead of JSON names
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
    const text = `${JSON.stringify(createDocument(file, values), null, 2)}\n`;
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
      rules: { type: "string" },
      "proto-names": { type: "boolean" },
      out: { type: "string" },
      help: { type: "boolean" },
    },
  });
}

function createDocument(file: string, values: ReturnType<typeof parse>["values"]) {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(file));
  const registry = createFileRegistry(set);
  const all = [...registry].filter((desc) => desc.kind === "service");
  const services = values.service === undefined ? all : values.service.map(find);
  function find(name: string): DescService {
    const service = registry.getService(name);
    if (service === undefined) throw new Error(`${file} has no service ${name}`);
    return service;
  }
  const { title = services[0]?.name, rules, "api-version": version = "1" } = values;
  if (title === undefined) throw new Error(`${file} has no service`);
  return createOpenApi({
    services,
    target: UNREACHED,
    title,
    version,
    comments: readComments(set.file),
    memberNames: values["proto-names"] ? "proto" : "json",
    ...(rules === undefined
      ? {}
      : { rules: serviceConfigRules(JSON.parse(readFileSync(rules, "utf8"))) }),
  });
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
