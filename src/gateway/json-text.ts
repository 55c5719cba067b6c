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

/** Messages with proto names, every member without presence there. @internal */
export const JSON_OPTIONS = { useProtoFieldName: true, alwaysEmitImplicit: true } as const;

/** From so many elements on, the text of each is kept. */
const LONG = 256;

interface LongList {
  readonly field: DescField;
  readonly type: DescMessage;
  readonly elements: readonly Message[];
}

/**
 * Writes JSON text of messages; `member` chooses one of them in place of all.
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
 * Elements of long lists are encoded once, and their text is kept as long as they live: after a change
 * of one setting out of 10,000, one is encoded and not all, which would take 100 ms of the event loop.
 * For a reply that is made once this would cost more than it saves: `isOnce`.
 *
 * @param stringify how a value is written.
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

/** Messages of protobuf itself have a JSON of their own. */
function isWellKnown({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

function longList(field: DescField, message: Message): LongList[] {
  if (field.fieldKind !== "list" || field.listKind !== "message") return [];
  const elements: unknown = Reflect.get(message, field.localName);
  if (!Array.isArray(elements) || elements.length < LONG) return [];
  return [{ field, type: field.message, elements }];
}
