import { createMatcher, type Matcher } from "./matcher.ts";
import { decodeRuns, latin1, unescapeView, type View, viewOf } from "./view.ts";

/** Text in place of what is removed. */
export const REDACTED = "********";

/** Maximum number of characters of a text that are read; the rest is dropped. */
const MAX_TEXT = 8_192;
/** Maximum number and total length of secrets. Beyond, the whole text is removed. */
const MAX_SECRETS = 1_000;
const MAX_SECRET_LENGTH = 65_536;
/** Minimum length of a secret: shorter ones are parts of words. */
const MIN_SECRET = 4;
/** Minimum length of a part of a secret that is a secret itself, such as a value of a cookie. */
const MIN_PART = 8;
/** Number of encodings that are decoded, one within another. */
const MAX_DEPTH = 5;
/** Maximum number of bytes of all decoded forms. Beyond, the whole text is removed. */
const MAX_DECODED = 600_000;

/**
 * Removes secrets from the text of another program: each of the given ones, in percent encoding,
 * HTML entities, escapes of JSON, JavaScript and Go, base64 and hexadecimal digits, in any order, up
 * to five deep; and what may be an unknown secret: user names, passwords and queries of URLs, values
 * of headers and members for credentials, and long words of letters and digits. Removed parts
 * become `********`.
 *
 * The work is proportional to the lengths of the text and of the secrets. A text that would need
 * more is removed as a whole.
 *
 * @param secrets those with fewer than 4 characters are ignored.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const read = text.slice(0, MAX_TEXT);
  const size = secrets.reduce((sum, { length }) => sum + length, 0);
  if (secrets.length > MAX_SECRETS || size > MAX_SECRET_LENGTH) return REDACTED;
  const hidden = hiddenRanges(read, createMatcher(patternsOf(secrets)));
  return hidden === undefined ? REDACTED : withoutRanges(read, hidden);
}

/**
 * Bytes of UTF-8 that are five printable characters, the shortest secret with an escape: what has
 * none is no text.
 */
const TEXT =
  /(?:[\x20-\x7e]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}){5}/;

type Range = readonly [start: number, end: number];

/** @returns undefined when the text has too many decoded forms. */
function hiddenRanges(text: string, matcher: Matcher): readonly Range[] | undefined {
  const ranges: Range[] = [];
  /** Views so far: different escapes may decode to the same text at the same place. */
  const seen = new Set<string>();
  let decoded = 0;
  /** @param isText whether the view is the text with fewer escapes, not a decoded part of it. */
  const search = (view: View, depth: number, isText: boolean): void => {
    const characters = latin1(view.bytes);
    const place = isText ? characters : `${view.start(0)} ${view.end(0)} ${characters}`;
    if (seen.has(place)) return;
    seen.add(place);
    decoded += view.bytes.length;
    if (decoded > MAX_DECODED) return;
    const hide = (start: number, end: number): void => {
      if (end > start) ranges.push([view.start(start), view.end(end - 1)]);
    };
    matcher.find(view.bytes, hide);
    if (isText) findCredentials(characters, hide);
    // Most words are no base64: nothing can be encoded in what they decode to.
    if (depth === MAX_DEPTH || !TEXT.test(characters)) return;
    for (const unescaped of unescapeView(view)) search(unescaped, depth + 1, isText);
    for (const run of decodeRuns(view)) {
      if (decoded > MAX_DECODED) return;
      search(run, depth + 1, false);
    }
  };
  search(viewOf(text), 0, true);
  return decoded > MAX_DECODED ? undefined : ranges;
}

function withoutRanges(text: string, ranges: readonly Range[]): string {
  let shown = "";
  let done = 0;
  for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
    if (start > done || done === 0) shown += text.slice(done, start) + REDACTED;
    done = Math.max(done, end);
  }
  return shown + text.slice(done);
}

/** The secrets, their parts, and these with fewer escapes: a text is compared in every form. */
function patternsOf(secrets: readonly string[]): Uint8Array[] {
  const texts = new Set<string>();
  for (const secret of secrets) {
    texts.add(secret);
    texts.add(secret.trim());
    for (const part of secret.split(/[\s;,&="'{}<>|:@?]+/))
      if (part.length >= MIN_PART && /\d/.test(part)) texts.add(part);
  }
  return [...texts].filter(({ length }) => length >= MIN_SECRET).flatMap(formsOf);
}

/** A secret as bytes, and with its own escapes decoded. */
function formsOf(secret: string): Uint8Array[] {
  const forms = new Map<string, Uint8Array>();
  const add = (view: View, depth: number): void => {
    const characters = latin1(view.bytes);
    if (characters.length < MIN_SECRET || forms.has(characters)) return;
    forms.set(characters, view.bytes);
    if (depth < MAX_DEPTH) for (const next of unescapeView(view)) add(next, depth + 1);
  };
  add(viewOf(secret), 0);
  return [...forms.values()];
}

/** A part of a text that may be a secret: the group `secret` of a pattern. */
const CREDENTIALS: readonly RegExp[] = [
  // User name and password of a URL.
  /:\/\/(?<secret>[^/?#\s"'<>@]+)@/dg,
  /:\/\/(?<secret>[^\s"'<>@:/]+:(?!\d+[/?#])[^\s"'<>]*)@/dg,
  // Query and fragment of a URL, or of a path; a quote ends it, also as an HTML entity.
  /:\/\/[^\s"'<>`?#]*(?:\?|(?<!&)#)(?<secret>(?:(?!&(?:#34|#x22|quot|gt);)[^\s"<>`])+)/dgi,
  /\?(?<secret>[\w.~%[\]+-]{1,64}=(?:(?!&(?:#34|#x22|quot|gt);)[^\s"<>`])*)/dgi,
  // Header of credentials.
  /authorization["']?\s{0,3}[:=]\s{0,3}\[?["']?(?<secret>(?:bearer|basic|token|digest|oauth|negotiate|aws4-[\w-]+)\s[^"'\r\n\]]+)/dgi,
  /authorization["']?\s{0,3}[:=]\s{0,3}\[?["']?(?<secret>(?=[^\s"'\]\d]{0,200}\d)[^\s"'\]]{8,})/dgi,
  /\b(?:bearer|basic)\s(?<secret>(?=[^\s"'\d=]{0,200}[\d=])[\w.~+/=-]{8,})/dgi,
  /cookie["']?\s{0,3}[:=]\s{0,3}\[?["']?(?<secret>[^\s=;,"']{1,200}=[^"'\r\n\]]*)/dgi,
  // Member of a form or of JSON.
  /(?:token|secret|passw(?:or)?d|pwd|passphrase|cookie|credential|session|signature|ticket|assertion|(?:api|access|private|app)[-_]?key)[\w-]{0,40}(?:=|["']\s{0,3}:\s{0,3}["'])(?<secret>[^\s"'<>&,;}\]]{4,})/dgi,
  /(?:token|secret|passw(?:or)?d|pwd|passphrase|credential|session|signature|ticket|(?:api|access|private|app)[-_]?key)[\w-]{0,40}:\s{0,3}(?<secret>(?=[^\s"'<>&,;}\]\d]{0,200}\d)[^\s"'<>&,;}\]]{12,})/dgi,
];
/** Long word that may be a token. UUIDs are names of requests. */
const LONG_WORD = /[A-Za-z0-9_+=-]{20,}/g;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function findCredentials(text: string, hide: (start: number, end: number) => void): void {
  for (const pattern of CREDENTIALS)
    for (const { indices } of text.matchAll(pattern)) {
      const [start = 0, end = 0] = indices?.groups?.["secret"] ?? [];
      hide(start, end);
    }
  for (const { 0: word, index } of text.matchAll(LONG_WORD))
    if (isRandom(word)) hide(index, index + word.length);
}

/** Reports whether a word has letters and digits as random ones have. */
function isRandom(word: string): boolean {
  const digits = word.replace(/[^0-9]+/g, "").length;
  const letters = word.replace(/[^A-Za-z]+/g, "").length;
  return digits >= 2 && letters >= 2 && !UUID.test(word);
}
