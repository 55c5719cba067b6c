import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Random } from "../../../random.ts";
import type { Generated } from "./request.ts";

/** Texts of values by the kind of their field, most of them valid. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  text: ['"a"', '"\\u00e9\\ud83d\\ude00"', '"a b&c=d"', '""', '"\\/\\n"'],
  small: ["0", "-1", "2147483647", '"12"', "1e2", "2.0", "3.5"],
  unsigned: ["0", "1", "4294967295", '"7"', "-1"],
  large: ['"9007199254740993"', "42", '"-1"', "1e3", '"x"'],
  real: ["0.5", "-2", '"1.5"', '"NaN"', '"-Infinity"', "1e-3"],
  truth: ["true", "false", '"true"'],
  bytes: ['"aGk="', '"_w=="', '"aGk"'],
  enum: ['"COLOR_RED"', "2", '"COLOR_GREEN"'],
};

const KINDS: Partial<Record<ScalarType, string>> = {
  [ScalarType.STRING]: "text",
  [ScalarType.INT32]: "small",
  [ScalarType.UINT32]: "unsigned",
  [ScalarType.INT64]: "large",
  [ScalarType.UINT64]: "large",
  [ScalarType.FLOAT]: "real",
  [ScalarType.DOUBLE]: "real",
  [ScalarType.BOOL]: "truth",
  [ScalarType.BYTES]: "bytes",
};

/**
 * Generates requests from the fields of a message, by its descriptor: JSON of nested messages, lists
 * and maps in both names of a field and with white space, and queries of the same fields. Well-known
 * types have another generator (request.ts).
 */
export function createMessageGenerator(
  desc: DescMessage,
  { chance, pick, upTo }: Random,
): () => Generated {
  const space = (): string => (chance(0.1) ? pick([" ", "\n", "\t "]) : "");
  const isPlain = ({ message }: DescField): boolean =>
    message === undefined || message.file.proto.package === desc.file.proto.package;
  const nameOf = (field: DescField): string => pick([field.name, field.jsonName]);

  function scalar(field: DescField): string {
    const kind = field.enum ? "enum" : (KINDS[field.scalar as ScalarType] ?? "text");
    return pick(TEXTS[kind] ?? ["null"]);
  }
  function one(field: DescField, depth: number): string {
    return field.message ? object(field.message, depth + 1) : scalar(field);
  }
  function value(field: DescField, depth: number): string {
    const count = upTo(3);
    if (field.fieldKind === "list")
      return `[${Array.from({ length: count }, () => one(field, depth)).join(`,${space()}`)}]`;
    if (field.fieldKind === "map") {
      const keys = field.mapKey === ScalarType.STRING ? ["a", "b c", "é"] : ["1", "-2", "3"];
      return `{${keys
        .slice(0, count)
        .map((key) => `"${key}":${one(field, depth)}`)
        .join(",")}}`;
    }
    return one(field, depth);
  }
  function object(message: DescMessage, depth = 0): string {
    const fields = depth > 4 ? [] : message.fields.filter(isPlain);
    const chosen = new Map<string, DescField>();
    for (let count = upTo(3); count > 0 && fields.length > 0; count--) {
      const field = pick(fields);
      // One member of a oneof: several are a kind of difference of their own.
      chosen.set(field.oneof?.name ?? field.name, field);
    }
    const members = [...chosen.values()].map(
      (field) => `${space()}"${nameOf(field)}"${space()}:${space()}${value(field, depth)}`,
    );
    return `{${members.join(",")}${space()}}`;
  }
  function query(): string {
    const fields = desc.fields.filter((field) => isPlain(field) && field.fieldKind !== "map");
    const chosen = new Map(
      Array.from({ length: 1 + upTo(3) }, () => pick(fields)).map((field) => [
        field.oneof?.name ?? field.name,
        field,
      ]),
    );
    return [...chosen.values()].map(parameter).join("&");
  }
  function parameter(field: DescField): string {
    const path = [nameOf(field)];
    let leaf = field;
    while (leaf.message && path.length < 4) {
      leaf = pick(leaf.message.fields.filter((one) => one.fieldKind !== "map"));
      path.push(nameOf(leaf));
      if (leaf.fieldKind === "list") break;
    }
    // A name that ends at a message fills nothing.
    if (leaf.message) return "nope=1";
    const text = scalar(leaf);
    const plain = text.startsWith('"') ? (JSON.parse(text) as string) : text;
    return `${path.join(".")}=${encodeURIComponent(plain)}`;
  }

  return () => {
    if (chance(0.3))
      return { method: "GET", target: `/v1/query?${query()}`, body: undefined, type: undefined };
    const [method, target] = pick([
      ["POST", "/v1/whole"],
      ["PUT", "/v1/whole/x"],
      ["POST", "/v1/ones:batch"],
    ] as const);
    return { method, target, body: object(desc), type: "application/json" };
  };
}
