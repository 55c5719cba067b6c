import type { Random } from "../../../random.ts";
import { words } from "../../../words.ts";
import type { Rule } from "./rules.ts";

/** A request as bytes, and the parts that decide which rule it matches. */
export interface RawRequest {
  readonly method: string;
  /** The path of the request line. */
  readonly path: string;
  /** Pieces that are written in sequence. */
  readonly writes: readonly Buffer[];
  /** The connection ends before the body does. */
  readonly cut: boolean;
}

const METHODS = words("GET POST PUT PATCH DELETE HEAD OPTIONS LINK REPORT QUERY");
const SEGMENTS = [
  ...words(`
    a b v1 things 1 -7 true COLOR_RED 1.5 a%20b %E4%BD%A0 x.y % %zz %ff %00 %2F a%2fb .. .
    %2e%2e a:cancel : a:b:c * ** {text} ~ ' 2026-01-31T08:00:00Z aGk= %F0%9F%98%80 %ed%a0%80
    __proto__
  `),
  "",
  '"',
  "\\",
  ";",
  "a=b",
  "l".repeat(200),
  "9".repeat(30),
];
const NAMES = [
  ...words(`
    text small big count yes ratio approx raw color numbers words part part.name part.size
    part.part.part.name parts parts.name labels labels[a] at note note.value left right huge
    partName expected seen ranks info nope __proto__ constructor toString a.b.c .
  `),
  "",
];
const VALUES = [
  ...words(`
    a 1 -1 1e3 true NaN Infinity 1e999 COLOR_RED 9223372036854775808 % %ff %00 a+b a%26b [1] {}
    null aGk= _-8 1.5s
  `),
  "",
  "\u00ff",
  "2026-01-31T08:00:00Z",
  "9".repeat(400),
  "%ed%a0%80",
];
/** Valid members as JSON; most of them are valid in a query as well. */
const FITTING: readonly (readonly [string, unknown])[] = [
  ...([
    ["text", "a"],
    ["small", 1],
    ["big", "-7"],
    ["count", 2],
    ["yes", true],
  ] as const),
  ...([
    ["ratio", 1.5],
    ["raw", "aGk="],
    ["color", "COLOR_RED"],
    ["numbers", 3],
  ] as const),
  ...([
    ["part.name", "a"],
    ["at", "2026-01-31T08:00:00Z"],
    ["note", "a"],
  ] as const),
];
const HEADERS = [
  "Accept: text/event-stream",
  "Accept: application/json",
  "Accept: \u00e9",
  "If-Match: *",
  'If-Match: "x", W/"y"',
  'If-None-Match: "x"',
  "Last-Event-ID: 7",
  "Expect: 100-continue",
  "Grpc-Timeout: 1S",
  "Grpc-Timeout: x",
  "Connect-Timeout-Ms: 5000",
  "X-Server-Timeout: 5",
  "Accept-Encoding: gzip, br;q=0",
  "Content-Encoding: gzip",
  "Accept-Language: zh",
  "Range: bytes=0-1",
  "Cookie: a=b",
  "X-HTTP-Method-Override: DELETE",
  "Origin: http://a.example",
  "TE: trailers",
];
const TYPES = [
  "application/json",
  "application/json; charset=utf-8",
  "APPLICATION/JSON",
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/json;",
  ";",
  "a",
  "application/x-ndjson",
];

/** A request for one of the rules, valid or modified. */
export function makeRequest(random: Random, rules: readonly Rule[]): RawRequest {
  const rule = random.pick(rules);
  const own = rule.httpMethod === "*" ? random.pick(METHODS) : rule.httpMethod;
  const method = random.chance(0.9) ? own : random.pick(METHODS);
  const path = makePath(random, rule.template);
  const query = random.chance(0.4) ? `?${makeQuery(random)}` : "";
  const headers = Array.from({ length: random.chance(0.3) ? 1 + random.upTo(3) : 0 }, () =>
    random.pick(HEADERS),
  );
  const hasBody = rule.body === "" ? random.chance(0.1) : random.chance(0.95);
  const body = hasBody ? makeBody(random) : undefined;
  if (body !== undefined && random.chance(0.95))
    headers.push(`Content-Type: ${random.chance(0.85) ? TYPES[0] : random.pick(TYPES)}`);
  const chunked = random.chance(0.3);
  if (body !== undefined)
    headers.push(chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`);
  const lines = [`${method} ${path}${query} HTTP/1.1`, "Host: a", "Connection: close", ...headers];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  const framed = body === undefined ? [] : chunked ? chunks(random, body) : pieces(random, body);
  const cut = framed.length > 0 && random.chance(0.03);
  return { method, path, writes: [head, ...(cut ? framed.slice(0, -1) : framed)], cut };
}

function makePath(random: Random, template: string): string {
  // A number is valid for most fields.
  const segment = (): string => (random.chance(0.8) ? "1" : random.pick(SEGMENTS));
  const flat = template.replace(/\{[^}=]*=([^}]*)\}/g, "$1").replace(/\{[^}]*\}/g, "*");
  const path = flat.replace(/\*\*?/g, (wildcard) =>
    wildcard === "*" ? segment() : Array.from({ length: random.upTo(4) }, segment).join("/"),
  );
  const spoilt = random.chance(0.1) ? spoil(random, path) : path;
  // The target of a request line has neither spaces nor control characters.
  const target = spoilt.replace(/[ #?]/g, "_");
  return target.startsWith("/") ? target : `/${target}`;
}

function spoil(random: Random, text: string): string {
  const at = random.upTo(text.length);
  const added = random.pick(["/", "//", ":", "%", "%2F", "/.", "/..", "*", "", "\u00ff", ";a=b"]);
  return text.slice(0, at) + added + text.slice(at + random.upTo(2));
}

function makeQuery(random: Random): string {
  const count = random.chance(0.01) ? 1_200 : 1 + random.upTo(4);
  const pairs = Array.from({ length: count }, () => {
    if (random.chance(0.7)) return random.pick(FITTING).join("=");
    const equals = random.chance(0.95) ? "=" : "";
    return `${random.pick(NAMES)}${equals}${random.pick(VALUES)}`;
  });
  return pairs.join(random.chance(0.97) ? "&" : "&&").replaceAll(" ", "+");
}

function makeBody(random: Random): Buffer {
  if (random.chance(0.05))
    return Buffer.from(Array.from({ length: random.upTo(60) }, () => random.upTo(255)));
  if (random.chance(0.02)) return Buffer.from("[".repeat(100) + "]".repeat(100));
  if (random.chance(0.02))
    return Buffer.from(JSON.stringify({ numbers: new Array(5_000).fill(1) }));
  if (random.chance(0.5)) return Buffer.from(fittingBody(random));
  const text = JSON.stringify(makeJson(random, 0)) ?? "";
  return Buffer.from(random.chance(0.1) ? spoil(random, text) : text);
}

function fittingBody(random: Random): string {
  const members = Array.from({ length: random.upTo(4) }, () => random.pick(FITTING)).flatMap(
    ([name, value]) => (name === "numbers" || name.includes(".") ? [] : [[name, value] as const]),
  );
  const part = '{"name":"a","part":{"size":1}}';
  const rest = random.pick(['"parts":[{},{"name":"b"}]', `"part":${part}`, '"labels":{"a":"b"}']);
  const whole = JSON.stringify(Object.fromEntries(members)).replace(
    /\}$/,
    `${members.length > 0 ? "," : ""}${rest}}`,
  );
  return random.pick([whole, whole, part, "[]", "[1]", '"a"', '{"a":"b"}', `[${part}]`]);
}

function makeJson(random: Random, depth: number): unknown {
  const kind = random.upTo(depth > 3 ? 4 : 9);
  if (kind === 0) return random.pick([0, 1, -1, 1.5, 1e300, 2 ** 53, -0, 4_294_967_296]);
  if (kind === 1) return random.pick([null, true, false]);
  if (kind <= 4) return random.pick([...VALUES, "\ud800", "\u0000", "你"]);
  if (kind === 5) return Array.from({ length: random.upTo(3) }, () => makeJson(random, depth + 1));
  const count = random.upTo(4);
  return Object.fromEntries(
    Array.from({ length: count }, () => [
      random.pick([...NAMES, "name", "size", "@type", "value"]),
      makeJson(random, depth + 1),
    ]),
  );
}

function pieces(random: Random, body: Buffer): Buffer[] {
  if (body.length === 0) return [];
  if (random.chance(0.7)) return [body];
  const at = random.upTo(body.length);
  return [body.subarray(0, at), body.subarray(at)].filter(({ length }) => length > 0);
}

function chunks(random: Random, body: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const part = body.subarray(at, at + 1 + random.upTo(40));
    at += part.length;
    const extension = random.chance(0.05) ? ";a=b" : "";
    parts.push(
      Buffer.concat([
        Buffer.from(`${part.length.toString(16)}${extension}\r\n`),
        part,
        Buffer.from("\r\n"),
      ]),
    );
    // A body of thousands of pieces would only test the kernel.
    if (parts.length > 50) {
      const rest = body.subarray(at);
      at = body.length;
      if (rest.length > 0)
        parts.push(
          Buffer.concat([
            Buffer.from(`${rest.length.toString(16)}\r\n`),
            rest,
            Buffer.from("\r\n"),
          ]),
        );
    }
  }
  return [...parts, Buffer.from("0\r\n\r\n")];
}
