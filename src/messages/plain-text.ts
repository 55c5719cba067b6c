import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { invalid } from "./error.ts";
import { message as sentence } from "./message.ts";

/**
 * Finds a text with a NUL character in a value.
 *
 * @returns its path below the value, such as `.name` or `[2].name`; empty: the value itself. Undefined:
 *   there is none.
 */
type Find = (value: unknown) => string | undefined;

const NUL = "\0";

/**
 * Refuses calls with a NUL character (U+0000) in a text: PostgreSQL can neither store nor compare
 * one, and SQLite follows the same rule. A google.protobuf.Struct is checked by its reader.
 *
 * @throws INVALID_ARGUMENT that names the field.
 */
export const plainTextInterceptor: Interceptor = (next) => (request) => {
  const { input } = request.method;
  if (request.stream) return next({ ...request, message: checked(input, request.message) });
  check(input, request.message);
  return next(request);
};

async function* checked(
  desc: DescMessage,
  messages: AsyncIterable<Message>,
): AsyncGenerator<Message> {
  for await (const message of messages) {
    check(desc, message);
    yield message;
  }
}

function check(desc: DescMessage, message: Message): void {
  const path = finderOf(desc)(message);
  if (path === undefined) return;
  // The path of a top-level field begins with a full stop.
  const field = path.slice(1);
  throw invalid([
    {
      field,
      description: sentence("NAMED_PROBLEM", { name: field, problem: sentence("NUL_CHARACTER") }),
    },
  ]);
}

/** One finder per message type. */
const finders = new WeakMap<DescMessage, Find>();

function finderOf(desc: DescMessage): Find {
  const known = finders.get(desc);
  if (known !== undefined) return known;
  const fields: { readonly field: DescField; readonly find: Find }[] = [];
  const findInMessage: Find = (message) => {
    for (const { field, find } of fields) {
      const value = fieldOf(message as Message, field);
      const inner = value === undefined ? undefined : find(value);
      if (inner !== undefined) return `.${field.name}${inner}`;
    }
    return undefined;
  };
  // Before its fields are visited: a message may contain its own type.
  finders.set(desc, findInMessage);
  for (const field of desc.fields) {
    const find = finderOfField(field);
    if (find !== undefined) fields.push({ field, find });
  }
  return findInMessage;
}

function fieldOf(message: Message, { localName, oneof }: DescField): unknown {
  const values = message as unknown as Record<string, unknown>;
  if (oneof === undefined) return values[localName];
  const chosen = values[oneof.localName] as { readonly case?: string; readonly value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}

/** Undefined: the field holds no text. */
function finderOfField(field: DescField): Find | undefined {
  const one = finderOfValue(field);
  switch (field.fieldKind) {
    case "list":
      return one && ((list) => findInList(list as readonly unknown[], one));
    case "map":
      return (map) => findInMap(map as Readonly<Record<string, unknown>>, one);
    default:
      return one;
  }
}

function finderOfValue({ message, scalar }: DescField): Find | undefined {
  if (message !== undefined && message.typeName !== "google.protobuf.Struct")
    return finderOf(message);
  return scalar === ScalarType.STRING ? findInText : undefined;
}

function findInText(text: unknown): string | undefined {
  return typeof text === "string" && text.includes(NUL) ? "" : undefined;
}

function findInList(list: readonly unknown[], find: Find): string | undefined {
  for (let at = 0; at < list.length; at += 1) {
    const inner = find(list[at]);
    if (inner !== undefined) return `[${at}]${inner}`;
  }
  return undefined;
}

/** For a key with a NUL character, the path is that of the map. */
function findInMap(
  map: Readonly<Record<string, unknown>>,
  find: Find | undefined,
): string | undefined {
  for (const key of Object.keys(map)) {
    if (key.includes(NUL)) return "";
    const inner = find?.(map[key]);
    if (inner !== undefined) return `.${key}${inner}`;
  }
  return undefined;
}
