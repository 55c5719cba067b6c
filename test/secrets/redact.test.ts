import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { REDACTED, redact } from "../../src/secrets/redact.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytesOf = (text: string): Buffer => Buffer.from(text, "utf8");
const units = (text: string): number[] =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
const pad = (value: number, size: number): string => value.toString(16).padStart(size, "0");

/** HTML names. */
const NAMES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  "/": "&sol;",
  "=": "&equals;",
  "+": "&plus;",
  ":": "&colon;",
  "?": "&quest;",
  "@": "&commat;",
  "%": "&percnt;",
};
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  percent: encodeURIComponent,
  "percent, lower case": (text) =>
    encodeURIComponent(text).replace(/%../g, (byte) => byte.toLowerCase()),
  "percent, every byte": (text) => hex(bytesOf(text)).replace(/../g, "%$&"),
  "percent, some bytes": (text) =>
    encodeURIComponent(text).replace(/[a-m]/g, (char) => `%${pad(char.charCodeAt(0), 2)}`),
  form: (text) => new URLSearchParams({ a: text }).toString().slice(2),
  "HTML as Go writes it": (text) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`),
  "HTML decimal": (text) => [...text].map((char) => `&#${char.codePointAt(0)};`).join(""),
  "HTML hexadecimal": (text) =>
    [...text].map((char) => `&#X${pad(char.codePointAt(0) ?? 0, 4).toUpperCase()};`).join(""),
  "HTML names": (text) => text.replace(/[&<>"'/=+:?@%]/g, (char) => NAMES[char] ?? char),
  JSON: (text) => JSON.stringify(text).slice(1, -1),
  "JSON, every character": (text) =>
    units(text)
      .map((unit) => `\\u${pad(unit, 4)}`)
      .join(""),
  "JSON of Go": (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replace(/[<>&]/g, (char) => `\\u00${pad(char.charCodeAt(0), 2)}`),
  "hexadecimal escapes": (text) => hex(bytesOf(text)).replace(/../g, "\\x$&"),
  base64: (text) => bytesOf(text).toString("base64"),
  base64url: (text) => bytesOf(text).toString("base64url"),
  "base64 of a pair": (text) => bytesOf(`user:${text}`).toString("base64"),
  "base64 of a sentence": (text) => bytesOf(`it is ${text} there`).toString("base64url"),
  hexadecimal: (text) => hex(bytesOf(text)),
  "hexadecimal, upper case": (text) => hex(bytesOf(text)).toUpperCase(),
};

const secret = fc.oneof(
  fc.string({ minLength: 6, maxLength: 40 }),
  fc.string({ unit: "grapheme", minLength: 6, maxLength: 12 }),
  fc.stringMatching(/^1\/\/0[A-Za-z0-9_-]{12,40}$/),
  fc.stringMatching(/^[a-z]{6,12}$/),
);
const around = fc.constantFrom(
  (text: string) => `failed init storage: ${text}`,
  (text: string) => `x${text}x refused`,
  (text: string) => `Get &#34;https://api.example.com/renew/${text}&#34;: EOF`,
  (text: string) => `{"reason":"${text}"}`,
);

test("a secret is removed in every chain of three encodings", () => {
  fc.assert(
    fc.property(
      secret.filter((text) => text.trim().length >= 6),
      fc.array(fc.constantFrom(...Object.keys(ENCODINGS)), { maxLength: 3 }),
      around,
      (text, chain, sentence) => {
        const encoded = chain.reduce((form, name) => ENCODINGS[name]?.(form) ?? form, text);
        fc.pre(encoded.length < 8_000);
        const shown = redact(sentence(encoded), [text]);
        expect(shown, `${text} by ${chain}`).toContain(REDACTED);
        expect(shown, `${text} by ${chain}`).not.toContain(encoded);
      },
    ),
    { numRuns: 1_500 },
  );
});

test.each(
  ['密码"密码', '   \u{10000}A\u0302\u0301"', "a&密b", '\u{1F600}"\u{1F600}"', 'ab"c'].flatMap(
    (text) =>
      [
        ["JSON", "hexadecimal"],
        ["JSON of Go", "percent", "hexadecimal"],
        ["JSON", "base64"],
        ["HTML names", "base64url"],
        ["HTML as Go writes it", "percent", "base64"],
      ].map((chain) => ({ text, chain })),
  ),
)(
  "a short secret with an escape is removed from what base64 and digits encode: %j",
  ({ text, chain }) => {
    const encoded = chain.reduce((form, name) => ENCODINGS[name]?.(form) ?? form, text);
    for (const sentence of [`failed init storage: ${encoded}`, `x${encoded}x refused`]) {
      const shown = redact(sentence, [text]);
      expect(shown).toContain(REDACTED);
      expect(shown).not.toContain(encoded.replace(/=+$/, ""));
    }
  },
);

describe("real messages", () => {
  test.each([
    [
      "failed init storage: Get &#34;https://api.oplist.org/googleui/renewapi?client_uid=&amp;" +
        "driver_txt=googleui_go&amp;refresh_ui=1%2F%2F0gAbCdEfGh&amp;server_use=true&#34;: " +
        "dial tcp: lookup api.oplist.org: no such host",
      "1//0gAbCdEfGh",
      "failed init storage: Get &#34;https://api.oplist.org/googleui/renewapi?********&#34;: dial tcp: lookup api.oplist.org: no such host",
    ],
    [
      'Post "https://user:p@ssw0rd@dav.example.com/dav/": EOF',
      "other",
      'Post "https://********@dav.example.com/dav/": EOF',
    ],
    ["Authorization: Basic dXNlcjpwYXNz", "other", "Authorization: ********"],
    ["bad header Cookie: SUB=abcdef; SSO=1", "other", "bad header Cookie: ********"],
    ['{"access_token":"ya29.abc","code":401}', "other", '{"access_token":"********","code":401}'],
    ["token eyJhbGciOiJIUzI1NiJ9 is expired", "other", "token ******** is expired"],
    [
      "the cookie UID=1234_A1; CID=abcdefgh12 is refused",
      "UID=1; CID=abcdefgh12",
      "the cookie UID=1234_A1; CID=******** is refused",
    ],
    ["cut here: abcdefghijkl…", "abcdefghijklmnop", "cut here: ********…"],
    ["wrong: first\nsecond", "first\nsecond", "wrong: ********"],
  ])("%s", (message, known, shown) => {
    expect(redact(message, [known])).toBe(shown);
  });

  test.each([
    "authorization is invalid, strs < 4",
    "cookie: timeout",
    "login failed, error code: 401, token: expired",
    "object not found: /photos/2024 trip",
    "AADSTS50173: the grant has expired. Trace ID: 6f1c1b1e-2a2a-4b4b-8c8c-123456789012",
    "dial tcp 203.0.113.7:443: i/o timeout",
    "账号或密码错误",
  ])("without secrets are kept: %s", (message) => {
    expect(redact(message, ["some-secret-1"])).toBe(message);
  });
});

test("more secrets, or a text with more decoded forms, than can be checked remove the whole text", () => {
  const many = Array.from({ length: 100_000 }, (_, at) => `value-${at}`);
  expect(redact("failed", many)).toBe(REDACTED);
  expect(redact("failed", ["x".repeat(2_000_000)])).toBe(REDACTED);
  const escapes = "%25".repeat(1_300);
  expect(redact(escapes, ["a-secret"]).length).toBeLessThanOrEqual(escapes.length);
});

test("a secret beyond the text's bound does not appear in part", () => {
  const long = Array.from({ length: 2_000 }, (_, at) => `part ${at}`).join(" ");
  expect(redact(`refused: ${long} end`, [long])).toBe(`refused: ${REDACTED}`);
  for (const encoding of Object.values(ENCODINGS))
    expect(redact(`refused: ${encoding(long)} end`, [long]).slice(0, 300)).toMatch(
      /^refused: \*{8}/,
    );
});
