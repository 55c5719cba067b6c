import { prettyFactory } from "pino-pretty";
import { expect, test } from "vitest";
import { escapeForPeople, escapeInJson } from "../../src/telemetry/log.ts";

/** Texts that a site could send: commands of a terminal, and changes of direction. */
const HOSTILE = [
  "\x1b[31m",
  "\x07",
  "\b\r\f",
  "\x7f",
  "\x85\x9b31m",
  "\u061c\u200e\u200f",
  "\u202a\u202b\u202c\u202d\u202e",
  "\u2066\u2067\u2068\u2069",
  "\u2028\u2029",
];
// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not reach a terminal.
const INTERPRETED = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

test.each(HOSTILE)("%j is escaped in JSON, which means the same", (text) => {
  const line = JSON.stringify({ level: 30, time: 0, msg: `a${text}b`, reason: text });
  const written = escapeInJson(line);
  expect(written).not.toMatch(INTERPRETED);
  expect(JSON.parse(written)).toEqual(JSON.parse(line));
});

test.each(HOSTILE)("%j does not reach the terminal of a person", (text) => {
  const show = prettyFactory({ colorize: false });
  for (const facts of [{ msg: `a${text}b` }, { msg: "m", reason: text, list: [{ deep: text }] }]) {
    const line = JSON.stringify({ level: 30, time: 0, ...facts });
    expect(show(escapeForPeople(line))).not.toMatch(INTERPRETED);
  }
});

test("other texts, line breaks and backslashes are shown as they are", () => {
  const show = prettyFactory({ colorize: false });
  const msg = "C:\\new\\u001b 读取\n\tat stack";
  expect(show(escapeForPeople(JSON.stringify({ level: 30, time: 0, msg })))).toContain(msg);
});
