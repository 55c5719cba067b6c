import type { Random } from "../../../random.ts";
import { words } from "../../../words.ts";

/** A generated request. */
export interface Generated {
  readonly method: string;
  /** Path and query of the request line. */
  readonly target: string;
  readonly body: string | undefined;
  readonly type: string | undefined;
}

/** The bytes of a request. */
export function toBytes({ method, target, body, type }: Generated): Buffer {
  const head = [`${method} ${target} HTTP/1.1`, "Host: localhost"];
  if (type !== undefined) head.push(`Content-Type: ${type}`);
  if (body !== undefined) head.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

const SEGMENTS = [
  ...words(
    "a all 1 -7 true COLOR_RED 2 1.5 a%20b a%2Fb a%2fb %E4%BD%A0 x:y a+b ~ a.b a,b end rows",
  ),
  "",
  ...words("a:cancel 9223372036854775807 %25"),
  ..."shelves rooms desks books below x".split(" "),
  "l".repeat(150),
];
const INTEGERS = words("0 1 -1 7 2147483647 2147483648 9223372036854775807 1.0 1e3");
const WRONG = ["", "x", "null", "1.5", "true", "9223372036854775808", "[1]", "{}", "%zz", "a%26b"];
const TIMES = ["2026-01-31T08:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "today"];
const TEXTS = ["a", "a b", "a+b", "你", "a&b", "100%", "a/b", "\\"];

/** Texts of query parameters by field; vanguard lacks repeated well-known types. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  s: TEXTS,
  os: TEXTS,
  rs: TEXTS,
  ws: TEXTS,
  two_words: TEXTS,
  twoWords: TEXTS,
  cs: TEXTS,
  otherName: TEXTS,
  renamed: TEXTS,
  "m.a": TEXTS,
  "m.in.a": TEXTS,
  "m.rs": TEXTS,
  "ws.value": TEXTS,
  i32: INTEGERS,
  i64: INTEGERS,
  u32: INTEGERS,
  u64: INTEGERS,
  oi: INTEGERS,
  ri: INTEGERS,
  rl: INTEGERS,
  wi32: INTEGERS,
  wi64: INTEGERS,
  wu64: INTEGERS,
  ci: INTEGERS,
  "m.n": INTEGERS,
  b: ["true", "false"],
  ob: ["true"],
  rb: ["true", "false"],
  wb: ["true"],
  d: ["1.5", "-0", "NaN", "1e400", "Infinity"],
  f: ["1.5", "3.4028235e38", "1e39"],
  rd: ["1"],
  by: ["aGk=", "aGk", "_-8="],
  e: ["COLOR_RED", "1", "9", "red"],
  re: ["COLOR_GREEN", "2"],
  ts: TIMES,
  du: ["1.5s", "-1s", "1"],
  fm: ["a.b,cD", "two_words"],
  m: ["a"],
  ms: ["a"],
  "ms.a": ["a"],
  mss: ["a"],
  "rs[]": ["a"],
  nope: ["a"],
  "m.nope": ["a"],
  "s.x": ["a"],
};

/** JSON of fields, valid and invalid. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  s: ['"a"', '"你😀"', "1", "null", '"\\ud800"', "[]"],
  i32: ["1", '"1"', "1.0", "1e3", '"1e3"', "1.5", "2147483648", '""', "null", "true", '"01"'],
  i64: [
    "1",
    '"9223372036854775807"',
    "9007199254740993",
    '"1e3"',
    '"1.0"',
    "9223372036854775808",
    '" 1"',
  ],
  u64: ["18446744073709551615", '"18446744073709551615"', "-1", "1e2"],
  b: ["true", '"true"', "1", "null"],
  f: ["1.5", "3.4028235e38", "3.5e38", '"NaN"', '"Infinity"', '"1.5"', "1e400"],
  d: ["1.5", '"-Infinity"', '"1e2"', "1e400", '""', "null", "9007199254740993"],
  by: ['"aGk="', '"aGk"', '"_-8="', '"%"', "1"],
  e: ['"COLOR_RED"', "1", "9", '"RED"', "null", "1.5"],
  os: ['"a"', '""', "null"],
  rs: ['["a","b"]', "[]", "null", "[null]", '"a"', "{}"],
  ri: ["[1,2]", '["1"]', "[1.5]"],
  re: ['["COLOR_RED",2]', '["RED"]'],
  m: [
    '{"a":"x","n":1}',
    "{}",
    "null",
    "[]",
    '"a"',
    '{"in":{"in":{"a":"deep"}}}',
    '{"nope":1}',
    '{"n":"x"}',
  ],
  ms: ['[{"a":"x"},{}]', "[null]", "[[]]", "{}", "null"],
  mss: ['{"k":"v"}', "{}", '{"k":1}', '{"k":null}', '{"__proto__":"v"}', "[]"],
  mim: ['{"1":{"a":"x"}}', '{"x":{}}', '{"-1":{}}'],
  msl: ['{"k":"9007199254740993"}', '{"k":9007199254740993}'],
  cs: ['"a"', "null"],
  ci: ["1", "null"],
  cm: ["{}", "null"],
  ts: TIMES.map((text) => JSON.stringify(text)).concat(
    "1",
    "null",
    '"2026-01-31T08:00:00.5+02:00"',
    '"2026-01-31t08:00:00z"',
  ),
  du: ['"1.5s"', '"-1s"', '"1"', '"1.0000000001s"', "1", "null"],
  fm: ['"a,cD"', '""', '"a.b"', '"two_words"', "1"],
  st: [
    '{"a":1,"b":[null,true,"x",{"c":1.5}]}',
    "{}",
    "null",
    '{"a":1e400}',
    "[]",
    '{"a":9007199254740993}',
  ],
  va: ["null", "1", '"a"', "[1,null]", "{}", "1e400", "true"],
  lv: ["[1,null]", "{}", "null"],
  an: [
    '{"@type":"type.googleapis.com/peer.v1.Inner","a":"x"}',
    '{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}',
    '{"@type":"type.googleapis.com/nope.Nope"}',
    '{"@type":"type.googleapis.com/peer.v1.Inner","n":"x"}',
    "{}",
    '{"a":"x"}',
  ],
  em: ["{}", "null", "1"],
  ws: ['"a"', "null", "1", '{"value":"a"}'],
  wi32: ["1", '"1"', "1.5"],
  wi64: ["9007199254740993", '"9007199254740993"', "null"],
  wu64: ["9007199254740993", "18446744073709551616"],
  wb: ["true", '"true"'],
  wd: ["1.5", '"NaN"'],
  wf: ["3.4028235e38", "1"],
  wby: ['"aGk="', '"%"'],
  two_words: ['"a"'],
  twoWords: ['"a"', "1"],
  renamed: ['"a"'],
  otherName: ['"a"'],
  rts: ['["2026-01-31T08:00:00Z"]', '["x"]', "[null]"],
  rws: ['["a"]', "[null]"],
  nope: ["1", '{"deep":[1]}'],
};

/** Paths with `*` for a segment and `**` for up to three, and the fields of their bodies. */
const PATHS: readonly (readonly [method: string, path: string, body?: string])[] = [
  ["GET", "/v1/one/*"],
  ["GET", "/v1/two/*/*"],
  ["GET", "/v1/typed/*/*/*/*"],
  ["GET", "/v1/nested/*/*"],
  ["GET", "/v1/star/*/end"],
  ["GET", "/v1/shelves/*/books/*"],
  ["GET", "/v1/rooms/*/desks/*"],
  ["GET", "/v1/rest/**"],
  ["GET", "/v1/below/**"],
  ["GET", "/v1/any/*/x/**"],
  ["POST", "/v1/one/*:cancel", "*"],
  ["POST", "/v1/ones:batch", "*"],
  ["POST", "/v1/rest/**:open"],
  ["GET", "/v1/query"],
  ["GET", "/v1/query"],
  ["GET", "/v1/query"],
  ["POST", "/v1/whole", "*"],
  ["POST", "/v1/whole", "*"],
  ["POST", "/v1/whole", "*"],
  ["POST", "/v1/whole", "*"],
  ["PUT", "/v1/whole/*", "*"],
  ["PATCH", "/v1/whole/*", "m"],
  ["DELETE", "/v1/whole/*"],
  ["POST", "/v1/none"],
  ["LINK", "/v1/custom/*"],
  ...["m", "ms", "s", "i64", "st", "va", "ts", "ws"].map(
    (field) => ["POST", `/v1/body/${field}`, field] as const,
  ),
  ...["m", "ms", "s", "i64", "st", "ts", "mss"].map(
    (field) => ["POST", `/v1/reply/${field}`, "*"] as const,
  ),
  ["POST", "/v1/files/*", "raw"],
  ["POST", "/v1/raw", "raw"],
  ["GET", "/v1/files/*"],
  ["GET", "/v1/fail/*/*"],
  ["GET", "/v1/stream/*/*"],
  ["POST", "/v1/stream", "*"],
  ["GET", "/v1/parts/*"],
  ["GET", "/v1/chunks/*"],
  ["PATCH", "/v1/things/*", "thing"],
  ["PATCH", "/v1/things/*", "thing"],
];

/** Generates requests of every kind, most of them valid. */
export function createGenerator({ chance, pick, upTo }: Random): () => Generated {
  const segment = (): string => pick(chance(0.6) ? ["a", "b", "7", "1"] : SEGMENTS);
  const path = (template: string): string =>
    template.replace(/\*\*|\*/g, (wild) =>
      wild === "*" ? segment() : Array.from({ length: upTo(3) }, segment).join("/"),
    );
  const parameter = (): string => {
    const name = pick(Object.keys(PARAMETERS));
    const value = pick(chance(0.85) ? (PARAMETERS[name] ?? []) : WRONG);
    return `${name}=${value === "%zz" ? value : encodeURIComponent(value).replaceAll("%20", pick(["+", "%20"]))}`;
  };
  const query = (): string => {
    const all = Array.from({ length: 1 + upTo(2) }, parameter);
    // grpc-gateway reads the two names of one field in a random order.
    const isTwice = ["ws=", "ws.value="].every((name) => all.some((one) => one.startsWith(name)));
    return (isTwice ? all.filter((one) => !one.startsWith("ws=")) : all).join("&");
  };
  const object = (): string => {
    const names = new Set(Array.from({ length: 1 + upTo(2) }, () => pick(Object.keys(MEMBERS))));
    return `{${[...names].map((name) => `"${name}":${pick(MEMBERS[name] ?? [])}`).join(",")}}`;
  };
  const maskQuery = (): string =>
    pick([
      "update_mask=s,m.a",
      "updateMask=twoWords",
      "updateMask.paths=s&updateMask.paths=m",
      "updateMask=",
      "allow_missing=true",
      "updateMask=*",
      "update_mask=m.nope",
    ]);
  const bodyOf = (field: string): string => {
    if (chance(0.03)) return pick(["{", "[", "null", "1", "", "{}{}", "\ufeff{}", '{"a":1,}']);
    if (field === "raw") return pick(["plain", "{}", "", "\u0000\u0001", "[1"]);
    return field === "*" || field === "thing" ? object() : pick(MEMBERS[field] ?? []);
  };
  return () => {
    const [own, template, field] = pick(PATHS);
    const isQuery = template.startsWith("/v1/query");
    const isUpdate = template.startsWith("/v1/things");
    const text = isQuery || chance(0.25) ? (isUpdate ? maskQuery : query)() : "";
    // grpc-gateway makes a message of it: one difference per request is enough.
    const asked = text === "" || (!isQuery && text.includes("m.nope")) ? "" : `?${text}`;
    const end = chance(0.02) ? "/" : "";
    const body = field !== undefined && chance(0.97) ? bodyOf(field) : undefined;
    return {
      method: chance(0.02) ? pick(["GET", "POST", "PUT"]) : own,
      target: `${path(template)}${end}${asked}`,
      body,
      type:
        body === undefined
          ? undefined
          : field === "raw"
            ? pick(["text/plain", "image/png"])
            : "application/json",
    };
  };
}
