import type { Format } from "./format.ts";
import { regexLines } from "./javascript-regex.ts";
import { buckets, jsonObject, previews, stringMap } from "./json.ts";
import { re2Lines } from "./re2.ts";
import {
  charset,
  color,
  host,
  ldapFilter,
  ldapServer,
  link,
  linkLines,
  list,
  pathLines,
  portMap,
  rpcUrl,
  url,
} from "./text.ts";

/** All formats, by their names in definitions. Their meanings: docs/settings.md. */
export const formats = {
  buckets,
  charset,
  color,
  host,
  json_object: jsonObject,
  ldap_filter: ldapFilter,
  ldap_server: ldapServer,
  link,
  link_lines: linkLines,
  list,
  path_lines: pathLines,
  port_map: portMap,
  previews,
  re2_lines: re2Lines,
  regex_lines: regexLines,
  rpc_url: rpcUrl,
  string_map: stringMap,
  url,
} as const satisfies Record<string, Format>;

/** Name of a format. */
export type FormatName = keyof typeof formats;

/** @returns the format of that name. */
export function formatOf(name: FormatName): Format {
  return formats[name];
}
