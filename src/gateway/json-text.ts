import type {
  DescField,
  DescMessage,
  JsonObject,
  JsonValue,
  Message,
  Registry,
} from "@bufbuild/protobuf";
import { memoize } from "../memoize.ts";
import { serializeJson } from "./serialize.ts";

/** Names of JSON members: JSON names, or the names in the proto files. */
export type MemberNames = "json" | "proto";

/** Options for proto names and for emitting fields without presence always. @internal */
export const JSON_OPTIONS = { useProtoFieldName: true, alwaysEmitImplicit: true } as const;

/** Minimum length of a list whose elements' text is cached. */
const LONG = 256;

interface LongList {
  readonly field: DescField;
  readonly type: DescMessage;
  readonly elements: readonly Message[];
}

/**
 * Writes the JSON text of a message, or of the field `member` alone.
 *
 * @throws UnencodableReply
 *
 * @internal
 */
export type JsonText = (
  desc: DescMessage,
  message: Message,
  options?: {
    readonly registry?: Registry | undefined;
    readonly member?: DescField | undefined;
    /** Whether the elements of its long lists are in no other reply: their text is not cached. */
    readonly isOnce?: boolean | undefined;
  },
) => string;

/**
 * Creates a writer that caches the text of each element of long lists for the lifetime of the
 * element: after a change of one setting out of 10,000 it encodes one, not all, which would block
 * the event loop for 100 ms. For a reply that is sent once (`isOnce`) the cache would cost more
 * than it saves.
 *
 * @param stringify converts a value to text.
 * @param names of members. Default: proto names.
 *
 * @internal
 */
export function createJsonText(
  stringify: (value: JsonValue) => string,
  names: MemberNames = "proto",
): JsonText {
  const base = { ...JSON_OPTIONS, useProtoFieldName: names === "proto" };
  const nameOf = (field: DescField): string => (names === "proto" ? field.name : field.jsonName);
  const optionsOf = memoize((registry: Registry | undefined) =>
    registry === undefined ? base : { ...base, registry },
  );
  const textIn = memoize((registry: Registry | undefined) =>
    memoize((desc: DescMessage) =>
      memoize((message: Message) => stringify(serializeJson(desc, message, optionsOf(registry)))),
    ),
  );
  return (desc, message, { registry, member, isOnce = false } = {}) => {
    const options = optionsOf(registry);
    const fields = member === undefined ? desc.fields : [member];
    const long =
      isOnce || isWellKnown(desc) ? NONE : fields.flatMap((one) => longList(one, message));
    if (long.length === 0) {
      const json = serializeJson(desc, message, options);
      return stringify(member ? ((json as JsonObject)[nameOf(member)] ?? null) : json);
    }
    const texts = new Map(
      long.map(({ field, type, elements }) => {
        const listed = `[${elements.map(textIn(registry)(type)).join(",")}]`;
        return [nameOf(field), listed];
      }),
    );
    if (member !== undefined) return texts.get(nameOf(member)) ?? "null";
    const rest = Object.fromEntries(long.map(({ field }) => [field.localName, []]));
    const json = serializeJson(desc, { ...message, ...rest }, options);
    const members = Object.entries(json as JsonObject).map(
      ([name, value]) => `${stringify(name)}:${texts.get(name) ?? stringify(value)}`,
    );
    return `{${members.join(",")}}`;
  };
}

const NONE: readonly LongList[] = [];

/** Well-known types have their own JSON mapping. */
function isWellKnown({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

function longList(field: DescField, message: Message): LongList[] {
  if (field.fieldKind !== "list" || field.listKind !== "message") return [];
  const elements: unknown = Reflect.get(message, field.localName);
  if (!Array.isArray(elements) || elements.length < LONG) return [];
  return [{ field, type: field.message, elements }];
}
