/** How one key of a site is handled, where it is not like any other. */
export interface Treatment {
  /** Written by the site itself, or its credential: neither pushed, adopted nor compared. */
  readonly never?: true;
  /** A save of it does something at the site that can fail: it is sent alone. */
  readonly alone?: true;
  /** After a refusal the old value is saved again, because the site is broken without. */
  readonly repair?: true;
  /** How long a save of it may take, in milliseconds; undefined: as any other. */
  readonly limit?: number;
  /** The site may store another value than it is sent. */
  readonly rewritten?: true;
  /** White space around the value says nothing. */
  readonly trimmed?: true;
  /** Values that the site lists as others. */
  readonly listed?: Readonly<Record<string, string>>;
  /** What somebody should know of it. */
  readonly note?: string;
}

const LOCAL = "often differs from site to site";
const RESTART = "the site reads it at its next start";
const ROLE = "the site lists and takes a role by its name; roles differ from site to site";
const CONNECT = "the site connects the download manager in a step of its own";

/** By key, or by a pattern with `*` at one end. The first that fits counts. */
const table: readonly (readonly [string, Treatment])[] = [
  ["token", { never: true }],
  ["version", { never: true }],
  ["index_progress", { never: true }],
  ["multipart_chunk_size", { alone: true, trimmed: true }],
  ["filename_char_mapping", { alone: true, note: "removed pairs act until the site restarts" }],
  ["privacy_regs", { alone: true }],
  ["search_index", { alone: true, repair: true, note: LOCAL }],
  // The number of the role that a new site has for guests, which it takes back by no name.
  ["default_role", { alone: true, listed: { "1": "guest" }, note: ROLE }],
  // The site asks every server that it mounts: two minutes for one that hangs.
  ["ignore_paths", { alone: true, limit: 150_000, note: LOCAL }],
  ["logo", { rewritten: true }],
  ["favicon", { rewritten: true }],
  ["audio_cover", { rewritten: true }],
  ["ocr_api", { rewritten: true }],
  ["customize_head", { rewritten: true }],
  ["aria2_*", { note: CONNECT }],
  ["qbittorrent_*", { note: CONNECT }],
  ["transmission_*", { note: CONNECT }],
  ["ftp_public_host", { note: `${LOCAL}; ${RESTART}` }],
  ["ftp_tls_*", { note: `${LOCAL}; ${RESTART}` }],
  ["ftp_pasv_port_map", { note: `${LOCAL}; ${RESTART}` }],
  ["ftp_*", { note: RESTART }],
  ["s3_*", { note: LOCAL }],
  ["sso_client_*", { note: LOCAL }],
  ["ldap_*", { note: LOCAL }],
  ["*_temp_dir", { note: LOCAL }],
  ["downloaders", { note: LOCAL }],
  ["site_title", { note: LOCAL }],
  ["announcement", { note: LOCAL }],
];

const COMMON: Treatment = {};
const MAX_FOUND = 10_000;
const MAX_KEY = 255;
const found = new Map<string, Treatment>();

/** How a key is handled at sites. */
export function treatmentOf(key: string): Treatment {
  const known = found.get(key);
  if (known !== undefined) return known;
  const [, treatment = COMMON] = table.find(([pattern]) => fits(key, pattern)) ?? [];
  // Requests choose keys: those of settings have at most 255 characters.
  if (found.size < MAX_FOUND && key.length <= MAX_KEY) found.set(key, treatment);
  return treatment;
}

function fits(key: string, pattern: string): boolean {
  if (pattern.endsWith("*")) return key.startsWith(pattern.slice(0, -1));
  return pattern.startsWith("*") ? key.endsWith(pattern.slice(1)) : key === pattern;
}

/** The order in which keys are sent alone: what may take long comes last. */
export function loneOrder(key: string): number {
  return table.findIndex(([pattern]) => pattern === key);
}
