/** Bytes of a text, or of a part of it after decoding, with the origin of each byte. */
export interface View {
  readonly bytes: Uint8Array;
  /** Range of the text from which a byte was decoded, in UTF-16 code units, end exclusive. */
  readonly start: (at: number) => number;
  readonly end: (at: number) => number;
}

const encoder = new TextEncoder();

/** The UTF-8 bytes of a text. */
export function viewOf(text: string): View {
  const bytes = encoder.encode(text);
  // ASCII: one byte per character.
  if (bytes.length === text.length) return { bytes, start: (at) => at, end: (at) => at + 1 };
  const written = createWriter();
  let at = 0;
  for (const char of text) {
    written.add(encoder.encode(char), at, at + char.length);
    at += char.length;
  }
  return written.view();
}

/**
 * Decodes one level of escapes: those of each kind alone, because a character may be an escape of
 * one kind and a plain one for another, and those of all kinds.
 */
export function unescapeView(view: View): View[] {
  const text = latin1(view.bytes);
  const kinds = KINDS.filter((pattern) => text.search(pattern) >= 0);
  return [...kinds, ...(kinds.length > 1 ? [ANY_KIND] : [])].map((pattern) =>
    decodeEscapes(view, text, pattern),
  );
}

function decodeEscapes(view: View, text: string, pattern: RegExp): View {
  const written = createWriter();
  let done = 0;
  const keepTo = (end: number): void => {
    for (; done < end; done += 1)
      written.add(view.bytes.subarray(done, done + 1), view.start(done), view.end(done));
  };
  for (const { 0: sequence, index, groups = {} } of text.matchAll(pattern)) {
    const decoded = decodeEscape(groups);
    if (decoded === undefined) continue;
    keepTo(index);
    done = index + sequence.length;
    written.add(decoded, view.start(index), view.end(done - 1));
  }
  keepTo(view.bytes.length);
  return written.view();
}

/** Runs of characters of base64 (RFC 4648, sections 4 and 5) and of hexadecimal digits. */
const RUN = /[A-Za-z0-9+/_-]{6,}/g;
const HEX_RUN = /[0-9A-Fa-f]{8,}/g;

/**
 * Decodes each run of base64 or hexadecimal characters. A run may begin within another word, so
 * that it is decoded at every alignment.
 */
export function* decodeRuns(view: View): Iterable<View> {
  const text = latin1(view.bytes);
  for (const { 0: run, index } of text.matchAll(RUN))
    for (const skipped of [0, 1, 2, 3])
      yield wholeRun(view, index, run, Buffer.from(run.slice(skipped), "base64"));
  for (const { 0: run, index } of text.matchAll(HEX_RUN))
    for (const skipped of [0, 1]) {
      const even = run.slice(skipped, run.length - ((run.length - skipped) % 2));
      yield wholeRun(view, index, run, Buffer.from(even, "hex"));
    }
}

/** Decoded bytes, each from the whole run. */
function wholeRun(view: View, index: number, run: string, bytes: Uint8Array): View {
  const start = view.start(index);
  const end = view.end(index + run.length - 1);
  return { bytes, start: () => start, end: () => end };
}

/** A text with one character per byte, so that positions are the same. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

function createWriter() {
  const bytes: number[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  return {
    add: (some: Uint8Array, start: number, end: number): void => {
      for (const byte of some) {
        bytes.push(byte);
        starts.push(start);
        ends.push(end);
      }
    },
    view: (): View => ({
      bytes: Uint8Array.from(bytes),
      start: (at) => starts[at] ?? 0,
      end: (at) => ends[at] ?? 0,
    }),
  };
}

/** Escapes of percent encoding, of HTML, and of strings of JSON, JavaScript and Go. */
const ESCAPES: readonly (readonly RegExp[])[] = [
  [/%(?<byte>HH)/, /%u(?<high>[dD][89abAB]HH)%u(?<low>[dD][c-fC-F]HH)/, /%u(?<point>HHHH)/],
  [
    /&#[xX](?<point>H{1,8});?/,
    /&#(?<decimal>\d{1,9});?/,
    /&(?<name>[A-Za-z]{2,8}\d{0,2};|(?:amp|lt|gt|quot|AMP|LT|GT|QUOT)(?![A-Za-z]))/,
  ],
  [
    /\\x(?<byte>HH)/,
    /\\u(?<high>[dD][89abAB]HH)\\u(?<low>[dD][c-fC-F]HH)/,
    /\\u(?<point>HHHH)/,
    /\\u\{(?<point>H{1,6})\}/,
    /\\U(?<point>HHHHHHHH)/,
    /\\(?<octal>[0-3][0-7]{2})/,
    /\\(?<letter>[abfnrtv])/,
    /\\(?<character>[^\w\s])/,
  ],
];
const KINDS = ESCAPES.map(anyOf);
const ANY_KIND = anyOf(ESCAPES.flat());

function anyOf(patterns: readonly RegExp[]): RegExp {
  const sources = patterns.map(({ source }) => source.replaceAll("H", "[0-9A-Fa-f]"));
  return new RegExp(sources.join("|"), "g");
}

/** @returns undefined: not an escape. */
function decodeEscape(
  groups: Readonly<Record<string, string | undefined>>,
): Uint8Array | undefined {
  const { byte, octal, high, low, decimal, name, letter, character } = groups;
  if (byte !== undefined) return Uint8Array.of(Number.parseInt(byte, 16));
  if (octal !== undefined) return Uint8Array.of(Number.parseInt(octal, 8));
  if (high !== undefined && low !== undefined)
    return encoder.encode(String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16)));
  if (decimal !== undefined) return codePoint(Number.parseInt(decimal, 10));
  if (name !== undefined) return namedCharacter(name.replace(";", ""));
  if (letter !== undefined) return encoder.encode(LETTERS["abfnrtv".indexOf(letter)] ?? "");
  if (character !== undefined) return Uint8Array.of(character.charCodeAt(0));
  return codePoint(Number.parseInt(groups["point"] ?? "", 16));
}

/** Characters of the escapes `\a` to `\v`. */
const LETTERS = "\x07\b\f\n\r\t\v";

function codePoint(value: number): Uint8Array | undefined {
  return value <= 0x10_ffff ? encoder.encode(String.fromCodePoint(value)) : undefined;
}

/** HTML names of ASCII characters, in any case, and of U+00A0 to U+00FF in order. */
const ASCII_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    tab: "\t",
    newline: "\n",
    excl: "!",
    quot: '"',
    num: "#",
    dollar: "$",
    percnt: "%",
    amp: "&",
    apos: "'",
    lpar: "(",
    rpar: ")",
    ast: "*",
    midast: "*",
    plus: "+",
    comma: ",",
    period: ".",
    sol: "/",
    colon: ":",
    semi: ";",
    lt: "<",
    equals: "=",
    gt: ">",
    quest: "?",
    commat: "@",
    lsqb: "[",
    lbrack: "[",
    bsol: "\\",
    rsqb: "]",
    rbrack: "]",
    hat: "^",
    lowbar: "_",
    underbar: "_",
    grave: "`",
    lcub: "{",
    lbrace: "{",
    verbar: "|",
    vert: "|",
    rcub: "}",
    rbrace: "}",
  }),
);
const LATIN_NAMES = (
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn " +
  "sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave " +
  "Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml " +
  "ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN " +
  "szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute " +
  "icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml " +
  "yacute thorn yuml"
).split(" ");

function namedCharacter(name: string): Uint8Array | undefined {
  const ascii = ASCII_NAMES.get(name.toLowerCase());
  if (ascii !== undefined) return encoder.encode(ascii);
  const at = LATIN_NAMES.indexOf(name);
  return at < 0 ? undefined : encoder.encode(String.fromCharCode(0xa0 + at));
}
