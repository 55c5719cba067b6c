import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { invalid } from "./error.ts";
import { message as sentence } from "./message.ts";

/** @returns the path of a text with a NUL character; undefined: none. */
type Find = (value: unknown, path: string) => string | undefined;

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
  const field = finderOf(desc)(message, "");
  if (field === undefined) return;
  throw invalid([
    {
      field,
      description: sentence("NAMED_PROBLEM", { name: field, problem: sentence("NUL_CHARACTER") }),
    },
  ]);
}

/** Made once for each type: most calls have a text or two. */
const finders = new WeakMap<DescMessage, Find>();

function finderOf(desc: DescMessage): Find {
  const known = finders.get(desc);
  if (known !== undefined) return known;
  const fields: [DescField, Find][] = [];
  const find: Find = (message, path) =>
    firstOf(fields, ([field, findIn]) => {
      const value = fieldOf(message as Message, field);
      return value === undefined
        ? undefined
        : findIn(value, path === "" ? field.name : `${path}.${field.name}`);
    });
  // Before its fields are visited: a message may contain its own type.
  finders.set(desc, find);
  for (const field of desc.fields) fields.push([field, finderOfField(field)]);
  return find;
}

function fieldOf(message: Message, { localName, oneof }: DescField): unknown {
  const values = message as unknown as Record<string, unknown>;
  if (oneof === undefined) return values[localName];
  const chosen = values[oneof.localName] as { readonly case?: string; readonly value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}

function finderOfField(field: DescField): Find {
  const one: Find =
    field.message !== undefined && field.message.typeName !== "google.protobuf.Struct"
      ? finderOf(field.message)
      : (value, path) => (typeof value === "string" && value.includes(NUL) ? path : undefined);
  switch (field.fieldKind) {
    case "list":
      return (list, path) =>
        firstOf((list as unknown[]).entries(), ([at, value]) => one(value, `${path}[${at}]`));
    case "map":
      return (map, path) =>
        firstOf(Object.entries(map as object), ([key, value]) =>
          key.includes(NUL) ? path : one(value, `${path}.${key}`),
        );
    default:
      return one;
  }
}

function firstOf<T>(
  values: Iterable<T>,
  find: (value: T) => string | undefined,
): string | undefined {
  for (const value of values) {
    const found = find(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
