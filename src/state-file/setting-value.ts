import { isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from "yaml";
import type { FormatName } from "../settings/format/registry.ts";
import { shown } from "./problem.ts";
import type { Interpolated, References } from "./reference.ts";

/**
 * Conversion of a mapping or list to the value of a setting: `json` gives JSON text, `lines` one
 * item per line, `commas` items separated by commas; `text` accepts neither.
 */
export type ValueShape = "json" | "lines" | "commas" | "text";

const shapes: Readonly<Record<FormatName, ValueShape>> = {
  buckets: "json",
  charset: "text",
  color: "text",
  host: "text",
  json_object: "json",
  ldap_filter: "text",
  ldap_server: "text",
  link: "text",
  link_lines: "lines",
  list: "commas",
  path_lines: "lines",
  port_map: "commas",
  previews: "json",
  re2_lines: "lines",
  regex_lines: "lines",
  rpc_url: "text",
  string_map: "json",
  url: "text",
};

/** The shape that values of a format have. */
export function shapeOf(format: FormatName | undefined): ValueShape {
  return format === undefined ? "text" : shapes[format];
}

/** Maximum nesting of lists and mappings. */
const MAX_DEPTH = 32;

/**
 * Converts a YAML value to the text of a setting, with references resolved. Text stays unchanged;
 * numbers and booleans keep their notation; lists and mappings follow the shape.
 *
 * @throws Error with a description of the problem that quotes no value.
 */
export function settingText(
  node: Node | null,
  shape: ValueShape,
  references: References,
): Interpolated {
  const hidden: string[] = [];

  const textOf = (scalar: Scalar | null): string => {
    const { text, hidden: parts } = references.resolve(scalarText(scalar));
    hidden.push(...parts);
    return text;
  };

  const plain = (node: unknown, depth: number): unknown => {
    if (depth > MAX_DEPTH)
      throw new Error(`has lists and mappings nested deeper than ${MAX_DEPTH} levels`);
    refuseAlias(node);
    if (isSeq(node)) return node.items.map((item) => plain(item, depth + 1));
    if (isMap(node)) return Object.fromEntries(membersOf(node, depth));
    if (!isScalar(node)) return null;
    return typeof node.value === "string" ? textOf(node) : jsonScalar(node);
  };

  const membersOf = ({ items }: YAMLMap, depth: number): Map<string, unknown> => {
    const members = new Map<string, unknown>();
    for (const { key, value } of items) {
      const name = memberName(key);
      if (members.has(name)) throw new Error(`has the key ${JSON.stringify(shown(name))} twice`);
      members.set(name, plain(value, depth + 1));
    }
    return members;
  };

  const list = (items: readonly unknown[], separator: string, name: string): string =>
    items
      .map((item, at) => {
        refuseAlias(item);
        if (!isScalar(item)) throw new Error(`item ${at + 1} of the list must be plain text`);
        const text = textOf(item);
        if (text.includes(separator))
          throw new Error(`item ${at + 1} of the list contains ${name}`);
        return text;
      })
      .join(separator);

  refuseAlias(node);
  if (!isMap(node) && !isSeq(node)) return { text: textOf(node as Scalar | null), hidden };
  if (shape === "json") return { text: JSON.stringify(plain(node, 0)), hidden };
  if (isSeq(node) && shape === "lines")
    return { text: list(node.items, "\n", "a line break"), hidden };
  if (isSeq(node) && shape === "commas") return { text: list(node.items, ",", "a comma"), hidden };
  throw new Error(complaints[shape]);
}

/** Refuses aliases, which let a small file expand to a very large value. */
function refuseAlias(node: unknown): void {
  if (isAlias(node))
    throw new Error("has a YAML alias, which is not supported; quote a text that begins with *");
}

const complaints: Readonly<Record<ValueShape, string>> = {
  json: "",
  lines: "must be text or a list with an item for each line, not a mapping",
  commas: "must be text or a list, not a mapping",
  text: "must be text, not a list or a mapping; quote a text that begins with [ or {, or write it as a block after |",
};

function scalarText(scalar: Scalar | null): string {
  const { value, source } = scalar ?? { value: null, source: undefined };
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" || typeof value === "bigint") return numberText(value, source);
  if (value === null || value === undefined)
    throw new Error('has no value; write "" for empty text');
  throw new Error("must be text, a number, or true or false");
}

/** Original notation: 1.10 stays 1.10, and long numbers keep all digits. */
function numberText(value: number | bigint, source: string | undefined): string {
  if (source !== undefined && /^-?[0-9]+(?:\.[0-9]+)?$/.test(source)) return source;
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Error("is not a finite number; quote it if it is meant as text");
  return String(value);
}

function jsonScalar({ value }: Scalar): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new Error("has a value that JSON cannot represent; quote it if it is meant as text");
}

function memberName(key: unknown): string {
  if (isScalar(key) && typeof key.value !== "object")
    return typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
  throw new Error("has a mapping key that is not plain text");
}
