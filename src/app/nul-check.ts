import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";

type AnyRequest = Parameters<ReturnType<Interceptor>>[0];

const NUL = "\0";

/**
 * Refuses a request with a NUL character (U+0000) in a text: PostgreSQL can neither store nor compare
 * one, and SQLite follows the same rule. The messages of a stream are checked as they arrive. A
 * google.protobuf.Struct is checked by its reader.
 *
 * @returns the request to pass on.
 * @throws INVALID_ARGUMENT that names the field.
 */
export function refuseNul(request: AnyRequest): AnyRequest {
  const { input } = request.method;
  if (request.stream) return { ...request, message: refuseInStream(input, request.message) };
  refuseInMessage(input, request.message);
  return request;
}

async function* refuseInStream(
  desc: DescMessage,
  messages: AsyncIterable<Message>,
): AsyncGenerator<Message> {
  for await (const one of messages) {
    refuseInMessage(desc, one);
    yield one;
  }
}

function refuseInMessage(desc: DescMessage, value: Message): void {
  const path = finderOf(desc)(value);
  if (path === undefined) return;
  // The path of a top-level field begins with a full stop.
  const field = path.slice(1);
  throw invalid([
    {
      field,
      description: message("NAMED_PROBLEM", { name: field, problem: message("NUL_CHARACTER") }),
    },
  ]);
}

/**
 * Finds a text with a NUL character in a value.
 *
 * @returns its path below the value, such as `.name` or `[2].name`; empty: the value itself. Undefined:
 *   there is none.
 */
type Find = (value: unknown) => string | undefined;

/** One finder per message type. */
const finders = new WeakMap<DescMessage, Find>();

function finderOf(desc: DescMessage): Find {
  const known = finders.get(desc);
  if (known !== undefined) return known;
  const fields: { readonly field: DescField; readonly find: Find }[] = [];
  const findInMessage: Find = (holder) => {
    for (const { field, find } of fields) {
      const value = fieldOf(holder as Message, field);
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

function fieldOf(holder: Message, { localName, oneof }: DescField): unknown {
  const values = holder as unknown as Record<string, unknown>;
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

function finderOfValue({ message: desc, scalar }: DescField): Find | undefined {
  if (desc !== undefined && desc.typeName !== "google.protobuf.Struct") return finderOf(desc);
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
