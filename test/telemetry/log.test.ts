import { prettyFactory } from "pino-pretty";
import { expect, test } from "vitest";
import { message } from "../../src/messages/message.ts";
import { escapeForPeople, escapeInJson, PRETTY, withSentences } from "../../src/telemetry/log.ts";

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
  const show = prettyFactory({ ...PRETTY, colorize: false });
  for (const facts of [{ msg: `a${text}b` }, { msg: "m", reason: text, list: [{ deep: text }] }]) {
    const line = JSON.stringify({ level: 30, time: 0, ...facts });
    expect(show(escapeForPeople(line))).not.toMatch(INTERPRETED);
  }
});

test("other texts, line breaks and backslashes are shown as they are", () => {
  const show = prettyFactory({ ...PRETTY, colorize: false });
  const msg = "C:\\new\\u001b 读取\n\tat stack";
  expect(show(escapeForPeople(JSON.stringify({ level: 30, time: 0, msg })))).toContain(msg);
});

test("a message in a line is a sentence, with its id and parameters beside it", () => {
  const reason = message("UNREACHABLE", { at: "http://a", reason: message("CAUSE_REFUSED") });
  const facts = withSentences({ site: "home", reason, problems: [message("CAUSE_NO_ANSWER")] });
  expect(facts).toMatchObject({
    site: "home",
    reason: String(reason),
    reasonId: "UNREACHABLE",
    reasonParameters: { at: "http://a" },
    problems: [String(message("CAUSE_NO_ANSWER"))],
  });
});

test("a line for people is one line with date and time", () => {
  const show = prettyFactory({ ...PRETTY, colorize: false });
  const facts = { site: "home", keys: ["a", "b"], result: "ok", deep: { a: { b: 1 } } };
  const line = JSON.stringify({
    level: 40,
    time: "2026-11-26T10:11:12.345Z",
    msg: "site",
    ...facts,
  });
  const shown = show(escapeForPeople(line)) ?? "";
  expect(shown.trimEnd().split("\n")).toHaveLength(1);
  expect(shown).toMatch(/^\[\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\] WARN: site/);
});
