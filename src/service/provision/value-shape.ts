import type { FormatName } from "../setting/format/registry.ts";

/**
 * What a mapping or a list stands for as the value of a setting: `json` is its JSON text, `lines` a
 * list with an item on each line, `commas` a list separated by commas; `text` takes neither.
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
