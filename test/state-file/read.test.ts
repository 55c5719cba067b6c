// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { STATE_FILE } from "../../src/state-file/form.ts";
import { loadStateFile, MAX_BYTES } from "../../src/state-file/read.ts";
import { anyText } from "../any-text.ts";
import { deps, folder, parse, path, problemsOf, readValue, valuesOf } from "./parse.ts";

describe("a settings file", () => {
  test("sets settings by key, with the place of each", () => {
    const file = parse(
      "# ours\nversion: 1\nsettings:\n  site_title: Harbour\n  allow_indexed: true\n",
    );
    const { problems, files } = file;
    expect(problems).toEqual([]);
    expect(files).toEqual([]);
    expect(valuesOf(file)).toEqual({ site_title: "Harbour", allow_indexed: "true" });
    expect(file.problemAt("settings[1].value", "is wrong")).toEqual({
      line: 5,
      column: 3,
      key: "",
      reason: "allow_indexed: is wrong",
    });
  });

  test("may be JSON, indented by tabs", () => {
    const text = JSON.stringify({
      settings: { site_title: "A\n\u00e4/\u2028", allow_indexed: false },
    });
    expect(Object.values(valuesOf(parse(text)))).toEqual(["A\n\u00e4/\u2028", "false"]);
    const indented = JSON.stringify({ settings: { site_title: "A" } }, null, "\t");
    expect(valuesOf(parse(indented))).toEqual({ site_title: "A" });
  });

  test("accepts any text that JSON encodes", () => {
    fc.assert(
      fc.property(anyText(), (value) => {
        const json = JSON.stringify({ settings: { site_title: value.replaceAll("${", "$${") } });
        expect(valuesOf(parse(json))["site_title"]).toBe(value);
      }),
    );
  });

  test.each(["settings:", "settings: {}", "settings: ~\nversion: 1", "\uFEFFsettings: {}"])(
    "%j has no settings",
    (text) => {
      expect(valuesOf(parse(text))).toEqual({});
      expect(problemsOf(text)).toEqual([]);
    },
  );
});

describe("a value", () => {
  test.each([
    ["Harbour", "Harbour"],
    ["'5'", "5"],
    ["30", "30"],
    ["1.10", "1.10"],
    ["-7", "-7"],
    ["007", "007"],
    ["12345678901234567890", "12345678901234567890"],
    ["0x1F", "31"],
    ["1e3", "1000"],
    ["True", "true"],
    ["yes", "yes"],
    ['""', ""],
    ["2026-01-02", "2026-01-02"],
    ["|\n    line 1\n    line 2", "line 1\nline 2\n"],
    ["|-\n    line 1\n\n    line 3", "line 1\n\nline 3"],
    ["!!str 5", "5"],
  ])("%j is %j", (yaml, value) => {
    expect(readValue(yaml)).toBe(value);
  });

  test.each([
    ["", /^f:2:3: site_title: has no value; write "" for empty text$/],
    ["~", /has no value/],
    [".inf", /is not a finite number/],
    ["[a, b]", /must be text, not a list or a mapping/],
    ["{a: b}", /must be text, not a list or a mapping/],
    ["!!binary aGk=", /must be text, a number, or true or false/],
    ["!mine x", /tags .* are not supported/],
    ["*name", /has a YAML alias/],
    ["a: b", /^f:2:15: this is not YAML: there is a second/],
    ["@home", /needs quotes/],
    ['"unclosed', /closing quote/],
    ['"\\q"', /invalid escape sequence/],
  ])("%j is refused", (yaml, message) => {
    expect(readValue(yaml)).toMatch(message);
  });

  test("of a JSON setting may be a mapping", () => {
    const yaml =
      "\n    pdf:\n      Viewer: https://example.invalid/?u=${env:NUMBER}\n    n: [1, true, null]";
    expect(JSON.parse(readValue(yaml, "external_previews"))).toEqual({
      pdf: { Viewer: "https://example.invalid/?u=5" },
      n: [1, true, null],
    });
    expect(readValue("'{\"a\":1}'", "external_previews")).toBe('{"a":1}');
    expect(readValue("{a: 1, a: 2}", "external_previews")).toMatch(/has the key "a" twice/);
    expect(readValue(`${"[".repeat(40)}${"]".repeat(40)}`, "external_previews")).toMatch(
      /deeper than 32/,
    );
    expect(readValue("{a: &x 1, b: *x}", "external_previews")).toMatch(/has a YAML alias/);
    expect(readValue("{__proto__: 1}", "external_previews")).toBe('{"__proto__":1}');
  });

  test("of a setting with lines or a list may be a list", () => {
    expect(readValue("[/a/i, /b/]", "hide_files")).toBe("/a/i\n/b/");
    expect(readValue("[txt, md, 7z]", "text_types")).toBe("txt,md,7z");
    expect(readValue("[]", "text_types")).toBe("");
    expect(readValue('["a\\nb"]', "hide_files")).toMatch(
      /item 1 of the list contains a line break/,
    );
    expect(readValue("[a, 'b,c']", "text_types")).toMatch(/item 2 of the list contains a comma/);
    expect(readValue("[[a]]", "text_types")).toMatch(/item 1 of the list must be plain text/);
    expect(readValue("{a: b}", "text_types")).toMatch(/not a mapping/);
  });
});

describe("the problems of a file", () => {
  test("are reported at once, in order, with line and column", () => {
    const text = [
      "version: 1",
      "settings:",
      "  site_tile: x",
      "  allow_indexed: maybe",
      "  site_title: ${env:NOT_SET}",
      "  announcement: ok",
      "  announcement: again",
      "  ? [1]\n  : x",
    ].join("\n");
    expect(problemsOf(text)).toEqual([
      "f:5:3: site_title: the environment variable NOT_SET is not set",
      "f:7:3: announcement: occurs a second time here",
      "f:8:5: a key must be plain text",
    ]);
  });

  test.each([
    ["", /^f:1:1: the file is empty/],
    ["# only a comment\n", /the file is empty/],
    ["just text", /this is not a mapping/],
    ["[]", /this is not a mapping/],
    ["site_title: x\n", /"settings:" is missing/],
    ["setting:\n  a: b\n", /^f:1:1: there is no section "setting"\. Did you mean "settings"\?$/],
    ["settings: [a]\n", /each item of a list needs "key"/],
    ["settings: {}\nsite_title: x\n", /^f:2:1: "site_title" can't stand here/],
    ["settings: {}\nversion: 2\n", /only 1 is known/],
    ["settings: {}\n---\nsettings: {}\n", /second document/],
    ["settings:\n\tsite_title: x\n", /tabs are not allowed for indentation/],
    ["settings: {}\nsettings: {}\n", /second time/],
    ["settings:\n  site_title: x\n allow_indexed: true\n", /^f:3:1: .*indentation/],
  ])("%j: %s", (text, message) => {
    const [first, ...more] = problemsOf(text);
    expect(first).toMatch(message);
    expect(more).toEqual([]);
  });

  test("never quote the text around a syntax error", () => {
    for (const slip of ['"secret" more secret', "}secret", "[secret", "secret: secret: secret"])
      expect(problemsOf(`settings:\n  site_title: ${slip}\n`).join()).not.toContain("secret");
  });

  test("are at most 100", () => {
    const keys = Array.from({ length: 10_000 }, (_, at) => `  k${at}: ""\n  k${at}: ""\n`).join("");
    expect(parse(`settings:\n${keys}`).problems).toHaveLength(100);
  });

  test.each([
    ["brackets", "[".repeat(20_000)],
    ["braces", '{"a":'.repeat(20_000)],
    ["dashes", `settings:\n${"- ".repeat(20_000)}`],
    ["anchors", `settings:\n  site_title: ${"&a ".repeat(1000)}`],
    ["random bytes", randomBytes(50_000).toString("latin1")],
  ])("are reported for deeply nested %s, without a crash", (_, text) => {
    expect(parse(text).problems.length).toBeGreaterThan(0);
  });

  test("are reported for any text, without a crash", () => {
    const piece = fc.constantFrom(
      "settings:",
      "\n",
      "  ",
      "site_title",
      ": ",
      "- ",
      "&a ",
      "*a",
      "|",
      ">",
      "{",
      "}",
      "[",
      "]",
      "'",
      '"',
      "#",
      "!",
      "${",
      "}",
      "? ",
      "---",
      "\t",
      "x",
      "%",
      "\0",
      "<<",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        expect(parse(pieces.join(""), { form: STATE_FILE }).problems).toBeInstanceOf(Array);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("loading", () => {
  test("reads the file, and reports an unreadable file as its problem", () => {
    expect(loadStateFile({ ...deps, path: join(folder, "none.yaml") }).problems).toEqual([
      { line: 0, column: 0, key: "", reason: "the file does not exist" },
    ]);
    writeFileSync(path, "settings:\n  site_title: Harbour\n");
    expect(valuesOf(loadStateFile(deps))).toEqual({ site_title: "Harbour" });
    writeFileSync(path, Buffer.alloc(MAX_BYTES + 1, "#"));
    expect(loadStateFile(deps).problems[0]?.reason).toBe(
      `the file has more than ${MAX_BYTES} bytes`,
    );
  });
});

describe("docs/state-file.md", () => {
  const page = readFileSync("docs/state-file.md", "utf8");
  const [, example = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];

  test("has an example that is read without problems, and that fits the schema of editors", () => {
    const values: Readonly<Record<string, string>> = {
      "/run/secrets/harbour": "token",
      "/run/secrets/chat": "https://chat.example/hook",
    };
    const { problems, sections } = parse(example, {
      form: STATE_FILE,
      env: { ARIA2_SECRET: "secret" },
      readFile: (path) => Buffer.from(values[path] ?? ""),
    });
    expect(problems).toEqual([]);
    expect([...sections.keys()]).toEqual([
      "sites",
      "settings",
      "mounts",
      "rules",
      "webhooks",
      "principals",
    ]);
    const schema = JSON.parse(readFileSync("src/data/state-file.schema.json", "utf8")) as object;
    const validate = new Ajv2020({ strict: false }).compile(schema);
    const isValid = (yaml: string): boolean => validate(parseYaml(yaml)) as boolean;
    expect(isValid(example)).toBe(true);
    expect(isValid("settngs: {}")).toBe(false);
    expect(isValid("mounts: { a: { path: /a } }")).toBe(false);
    expect(isValid("sites: { a: { url: 'http://a', mode: watch } }")).toBe(false);
  });
});
