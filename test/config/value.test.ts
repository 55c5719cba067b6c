import { describe, expect, test } from "vitest";
import { database } from "../../src/config/database.ts";
import { durationMs, frameAncestors, origins } from "../../src/config/value.ts";

const context = { cwd: "/srv", parallelism: 1 };

describe("a duration", () => {
  test.each([
    ["500ms", 500],
    ["10s", 10_000],
    ["1.5s", 1500],
    ["1m", 60_000],
    ["2h", 7_200_000],
    ["0s", 0],
    ["0.001s", 1],
  ])("%s is %d milliseconds", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });
  test.each(["", "10", "s", "-1s", "1e3s", "1 s", "1w", "1m30s", ".5s", "1.s", "10S", "\n1s"])(
    "%j is refused",
    (text) => {
      expect(durationMs(text)).toBeUndefined();
    },
  );
});

describe("the database URL", () => {
  test.each([
    ["sqlite:mooring.db", "/srv/mooring.db"],
    ["sqlite:./a/../b.db", "/srv/b.db"],
    ["sqlite:/var/lib/m.db", "/var/lib/m.db"],
    ["sqlite:///var/lib/m.db", "/var/lib/m.db"],
    ["sqlite:a b#%20.db", "/srv/a b#%20.db"],
    ["SQLite:m.db", "/srv/m.db"],
    ["sqlite::memory:", ":memory:"],
  ])("%s is parsed as %s", (text, filename) => {
    expect(database(text, context)).toEqual({ value: { dialect: "sqlite", filename } });
  });
  test.each([
    ["sqlite:", /no path/],
    ["sqlite://data/m.db", /two slashes/],
    ["sqlite:m.db?mode=ro", /question mark/],
    ["sqlite:a\0b", /NUL byte/],
    ["mooring.db", /not a database URL/],
    ["file:mooring.db", /not a database URL/],
    ["postgres://h", /names no database/],
    ["postgres://u:p@ss:w@h:port/db", /is not a URL: .*of a password as %40/],
    ["mysql://h/db", /names an unsupported database/],
  ])("%j is refused", (text, complaint) => {
    expect(database(text, context)).toEqual({ complaint: expect.stringMatching(complaint) });
  });
});

test.each([
  ["postgres://h/db", "postgres://h/db"],
  ["postgresql://u:secret@[::1]:5433/db?sslmode=verify-full", "postgres://u@[::1]:5433/db"],
])("%s is printed without its password and options", (text, place) => {
  expect(database(text, context)).toEqual({ value: { dialect: "postgres", url: text, place } });
});

describe("origins", () => {
  test.each([
    ["*", "*"],
    ["https://a.example", ["https://a.example"]],
    ["https://A.Example:443, http://[::1]:3000", ["https://a.example", "http://[::1]:3000"]],
    ["http://a.example:80,http://a.example", ["http://a.example"]],
    ["https://bücher.example", ["https://xn--bcher-kva.example"]],
    ["tauri://localhost", ["tauri://localhost"]],
  ])("%s are normalized as browsers do", (text, value) => {
    expect(origins(text, context)).toEqual({ value });
  });
  test.each([
    "https://a.example/",
    "https://a.example/path",
    "https://a.example?x",
    "https://a.example#x",
    "https://me:pw@a.example",
    "https://*.a.example",
    "https://",
    "https://a.example:99999",
    "a.example",
    "null",
    "*,https://a.example",
    "https://a.example,",
    "https:/\\a.example",
  ])("%s is refused", (text) => {
    expect(origins(text, context)).toHaveProperty("complaint");
  });
});

describe("the pages that may show the console in frames", () => {
  test.each([
    ["none", []],
    ["self", ["'self'"]],
    ["self, https://Panel.example:443", ["'self'", "https://panel.example"]],
    ["http://[::1]:8080", ["http://[::1]:8080"]],
  ])("%s is parsed", (text, value) => {
    expect(frameAncestors(text, context)).toEqual({ value });
  });
  test.each([
    "*",
    "https:",
    "https://*.example",
    "https://a.example/",
    "https://a;script-src",
    "https://a'b",
    "data://a",
    "https://a b",
    "none,self",
    "'self'",
    "",
  ])("%j is refused", (text) => {
    expect(frameAncestors(text, context)).toHaveProperty("complaint");
  });
});
