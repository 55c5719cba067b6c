import type { DescEnum, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { Names, shortNames } from "./name.ts";

/**
 * Direction of JSON: replies have every member without presence, 64-bit numbers as text; requests
 * may omit members and send such numbers in either form (protobuf's JSON mapping). In a `patch`
 * required members may be absent, too: an update mask selects them.
 */
export type Direction = "reply" | "request" | "patch";

/** Schema of a document that stands for no message type, with its possible names. */
export interface OwnSchema {
  readonly names: readonly [string, ...string[]];
  readonly schema: JsonObject;
}

/** Schema of a message type in one direction and one form of JSON. */
export interface MessageEntry {
  readonly desc: DescMessage;
  readonly direction: Direction;
  /** Form of JSON that differs from that of the document, as a suffix of the name; empty: none. */
  readonly form: string;
  /** Names of the members that are set from the path, and not in the body. */
  readonly omitted: readonly string[];
}

/** Schema of an enum by the names of its values, or by their numbers. */
export interface EnumEntry {
  readonly desc: DescEnum;
  readonly isNumber: boolean;
}

type Entry = (MessageEntry | EnumEntry) & { schema: JsonObject };

/** Prefix of references whose schema has no name yet; its key follows. */
const PENDING = "schema:";

/**
 * Collects the JSON Schemas (draft 2020-12) of a document, each once, as its components. References to
 * them are pending until `finish` names them.
 *
 * @internal
 */
export class Components {
  readonly #entries = new Map<string, Entry>();
  readonly #own = new Map<string, OwnSchema>();

  /** Reference to a schema that stands for no type of the contract. */
  own(own: OwnSchema): JsonObject {
    this.#own.set(own.names[0], own);
    return { $ref: `${PENDING}${own.names[0]}` };
  }

  /** Reference to the schema of a type, which `make` creates for the first one. */
  refer(of: MessageEntry | EnumEntry, make: () => JsonObject): JsonObject {
    const key = keyOf(of);
    if (!this.#entries.has(key)) {
      // The entry is set before its schema is made, because a message type may contain itself.
      const entry: Entry = { ...of, schema: {} };
      this.#entries.set(key, entry);
      entry.schema = make();
    }
    return { $ref: `${PENDING}${key}` };
  }

  /**
   * Names all components.
   *
   * @returns them by name, and `part`, a part of the document, with these names in its references.
   */
  finish<T>(part: T): { readonly schemas: Record<string, JsonObject>; readonly part: T } {
    const names = this.#assignNames();
    const named = <V>(value: V): V => {
      if (Array.isArray(value)) return value.map(named) as V;
      if (typeof value !== "object" || value === null) return value;
      const members = Object.entries(value).map(([name, member]): [string, unknown] => {
        const pending = name === "$ref" && typeof member === "string" && member.startsWith(PENDING);
        if (!pending) return [name, named(member)];
        return [name, `#/components/schemas/${names.get(member.slice(PENDING.length))}`];
      });
      return Object.fromEntries(members) as V;
    };
    const all = [
      ...[...this.#entries].map(([key, { schema }]) => [names.get(key) ?? key, named(schema)]),
      ...[...this.#own].map(([key, { schema }]) => [names.get(key) ?? key, schema]),
    ] as [string, JsonObject][];
    const schemas = Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
    return { schemas, part: named(part) };
  }

  /** Names of all entries by their keys: that of the type, with a suffix in requests and other forms. */
  #assignNames(): Map<string, string> {
    const names = new Names();
    const entries = [...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1));
    const types = new Map(entries.map(([, { desc }]) => [desc.typeName, desc]));
    const ofTypes = shortNames(
      [...types.values()].map((desc) => ({ typeName: desc.typeName, short: shortName(desc) })),
      names,
    );
    const replied = new Set(
      entries.flatMap(([, entry]) =>
        "direction" in entry && entry.direction === "reply" ? [entry.desc.typeName] : [],
      ),
    );
    const assigned = new Map<string, string>();
    for (const [key, entry] of entries) {
      const { typeName } = entry.desc;
      const type = ofTypes.get(typeName) ?? typeName;
      // Such a name needs no suffix in requests.
      const isOfRequests = !replied.has(typeName) && /(?:Request|Input)$/.test(type);
      const [first = type, ...others] =
        "direction" in entry ? messageNames(type, entry, isOfRequests) : enumNames(type, entry);
      // `shortNames` has taken the name of the type itself.
      assigned.set(key, first === type ? type : names.take(first, ...others));
    }
    for (const [key, own] of this.#own) assigned.set(key, names.take(...own.names));
    return assigned;
  }
}

function keyOf(of: MessageEntry | EnumEntry): string {
  const { typeName } = of.desc;
  if (!("direction" in of)) return `${typeName} ${of.isNumber ? "number" : "name"}`;
  return [typeName, of.form, of.direction, ...of.omitted].join(" ");
}

function shortName({ typeName, file }: DescMessage | DescEnum): string {
  return typeName.slice(file.proto.package.length).replace(/^\./, "").replaceAll(".", "_");
}

/** Names for a message type in one form, the preferred one first. */
function messageNames(
  type: string,
  { form, direction, omitted }: MessageEntry,
  isOfRequests: boolean,
): string[] {
  const formed = `${type}${form}`;
  const isPlain = direction === "reply" || (direction === "request" && isOfRequests);
  const suffix = direction === "patch" ? "Patch" : "Input";
  if (omitted.length > 0) return [`${formed}${isPlain ? "" : suffix}Body`];
  return isPlain ? [formed] : [`${formed}${suffix}`, `${formed}As${suffix}`];
}

function enumNames(type: string, { isNumber }: EnumEntry): string[] {
  return isNumber ? [`${type}Number`] : [type];
}
