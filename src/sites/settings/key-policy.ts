import { message, type Text } from "../../messages/message.ts";
import { SERVER_OWN_KEYS } from "../../settings/server-own.ts";

/** Key policy: handling of a key of a site that differs from the default. */
export interface KeyPolicy {
  /** The site's own value or its credential: never pushed, adopted or compared. */
  readonly never?: true;
  /** Saving it has side effects on the site that can fail: it is sent alone. */
  readonly separate?: true;
  /** After a refusal the old value is saved again, to restore the site's function. */
  readonly repair?: true;
  /** Time limit of a save of it, in milliseconds; undefined: the default. */
  readonly limit?: number;
  /** The site may store a different value. */
  readonly rewritten?: true;
  /** White space around the value is not significant. */
  readonly trimmed?: true;
  /** Values that the site lists differently: sent value to listed value. */
  readonly listed?: Readonly<Record<string, string>>;
  /** Note for the operator. */
  readonly note?: Text;
}

const LOCAL = message("DIFFERS_BY_SITE");
const RESTART = message("READ_AT_START");
const LOCAL_AT_START = message("MORE_PROBLEMS", { problem: LOCAL, more: RESTART });
const ROLE = message("ROLE_BY_NAME");
const CONNECT = message("DOWNLOAD_MANAGER_STEP");

/** Policies by key, or by a pattern with a `*` at its start or end; the first match applies. */
const table: readonly (readonly [string, KeyPolicy])[] = [
  ...[...SERVER_OWN_KEYS].map((key) => [key, { never: true }] as const),
  ["multipart_chunk_size", { separate: true, trimmed: true }],
  ["filename_char_mapping", { separate: true, note: message("REMOVED_PAIRS_ACT") }],
  ["privacy_regs", { separate: true }],
  ["search_index", { separate: true, repair: true, note: LOCAL }],
  // A new site lists the guest role by number; other roles by name.
  ["default_role", { separate: true, listed: { "1": "guest" }, note: ROLE }],
  // The site contacts every mounted server: two minutes for one that hangs.
  ["ignore_paths", { separate: true, limit: 150_000, note: LOCAL }],
  ["logo", { rewritten: true }],
  ["favicon", { rewritten: true }],
  ["audio_cover", { rewritten: true }],
  ["ocr_api", { rewritten: true }],
  ["customize_head", { rewritten: true }],
  ["aria2_*", { note: CONNECT }],
  ["qbittorrent_*", { note: CONNECT }],
  ["transmission_*", { note: CONNECT }],
  ["ftp_public_host", { note: LOCAL_AT_START }],
  ["ftp_tls_*", { note: LOCAL_AT_START }],
  ["ftp_pasv_port_map", { note: LOCAL_AT_START }],
  ["ftp_*", { note: RESTART }],
  ["s3_*", { note: LOCAL }],
  ["sso_client_*", { note: LOCAL }],
  ["ldap_*", { note: LOCAL }],
  ["*_temp_dir", { note: LOCAL }],
  ["downloaders", { note: LOCAL }],
  ["site_title", { note: LOCAL }],
  ["announcement", { note: LOCAL }],
];

const COMMON: KeyPolicy = {};
const MAX_FOUND = 10_000;
const MAX_KEY = 255;
const found = new Map<string, KeyPolicy>();

/** Returns the key policy of a key. */
export function keyPolicyOf(key: string): KeyPolicy {
  const known = found.get(key);
  if (known !== undefined) return known;
  const [, policy = COMMON] = table.find(([pattern]) => fits(key, pattern)) ?? [];
  // Bounded, because requests choose keys; keys of settings have at most 255 characters.
  if (found.size < MAX_FOUND && key.length <= MAX_KEY) found.set(key, policy);
  return policy;
}

function fits(key: string, pattern: string): boolean {
  if (pattern.endsWith("*")) return key.startsWith(pattern.slice(0, -1));
  return pattern.startsWith("*") ? key.endsWith(pattern.slice(1)) : key === pattern;
}

/** Order in which keys are sent separately: slow ones last. */
export function separateOrder(key: string): number {
  return table.findIndex(([pattern]) => pattern === key);
}
