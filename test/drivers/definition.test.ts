import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDriverReader } from "../../src/drivers/definition.ts";
import { DriverFileError } from "../../src/drivers/problem.ts";
import { readLabels } from "../../src/messages/label.ts";
import { builtIn, driverOf } from "./sample.ts";

const schema = JSON.parse(readFileSync("src/data/driver.schema.json", "utf8")) as object;
const fitsSchema = new Ajv2020({ strict: true }).compile(schema);

function problemsOf(text: string) {
  try {
    builtIn.reader({ file: "x.json", text });
  } catch (error) {
    if (error instanceof DriverFileError) return error.problems;
    throw error;
  }
  return [];
}

const item = (members: object) => ({ additional: [{ name: "a", type: "string", ...members }] });
const items = (...additional: object[]) => ({ additional });

/** Invalid files that both the JSON Schema and the program refuse. */
const wrongForm: [string, unknown, string, string][] = [
  ["no object", [], "", "must be an object, not an array"],
  ["no name", { name: undefined }, "name", "is missing"],
  ["a name of digits only", { name: "115" }, "name", "must be letters"],
  ["a name with a slash", { name: "a/b" }, "name", "must be letters"],
  ["a name with a space at its end", { name: "a " }, "name", "must be letters"],
  ["a name that is too long", { name: "a".repeat(65) }, "name", "is longer than 64"],
  ["an unknown member", { aditional: [] }, "aditional", 'Did you mean "additional"?'],
  ["an unknown flag", { config: { no_chache: true } }, "config.no_chache", "Did you mean"],
  ["a flag as text", { config: { no_cache: "true" } }, "config.no_cache", "must be true or false"],
  ["a config that is not an object", { config: [] }, "config", "must be an object"],
  ["a name inside config", { config: { name: "x" } }, "config.name", "is not a member"],
  ["an alert without level", { config: { alert: "Mind." } }, "config.alert", "level|text"],
  ["an alert of another level", { config: { alert: "note|Mind." } }, "config.alert", "level|text"],
  ["an alert without text", { config: { alert: "info|" } }, "config.alert", "level|text"],
  ["items that are not an array", { additional: {} }, "additional", "must be an array"],
  ["an item that is not an object", { additional: ["a"] }, "additional[0]", "must be an object"],
  ["too many items", items(...Array(201).fill({ use: "cookie" })), "additional", "200 is the most"],
  ["an item without name", item({ name: undefined }), "additional[0].name", "is missing"],
  ["an item without type", item({ type: undefined }), "additional[0].type", "is missing"],
  ["an item with a reserved name", item({ name: "toString" }), "additional[0].name", "reserve"],
  ["an item name with a dash", item({ name: "a-b" }), "additional[0].name", "underscores"],
  ["an unknown type", item({ type: "password" }), "additional[0].type", "must be one of string"],
  ["an unknown item member", item({ hint: "" }), "additional[0].hint", "is not a member"],
  ["a default that is not text", item({ default: 3 }), "additional[0].default", "in double quotes"],
  ["a help that is too long", item({ help: "a".repeat(2001) }), "additional[0].help", "2000"],
  ["a name beside use", items({ use: "cookie", name: "a" }), "additional[0].name", "not a member"],
  ["an unknown shared item", items({ use: "cookies" }), "additional[0].use", '"cookie"'],
  [
    "a condition without =",
    item({ show_when: "b" }),
    "additional[0].show_when",
    "item=value|value",
  ],
  ["a bound as text", item({ type: "number", min: "1" }), "additional[0].min", "must be a number"],
  ["a select without options", item({ type: "select" }), "additional[0].options", "must list"],
  ["options of a text", item({ options: "a,b" }), "additional[0].options", "make it a select"],
  ["bounds of a text", item({ max: 1 }), "additional[0].max", "only number and float"],
  ["a secret bool", item({ type: "bool", secret: true }), "additional[0].secret", "for text only"],
  [
    "a bool default",
    item({ type: "bool", default: "1" }),
    "additional[0].default",
    "true or false",
  ],
  ["a number default", item({ type: "number", default: "x" }), "additional[0].default", "whole"],
  ["a decimal default", item({ type: "number", default: "1.5" }), "additional[0].default", "whole"],
  ["a float default", item({ type: "float", default: ".5" }), "additional[0].default", "decimal"],
  ["a variant of no family", item({ variants: { flist: {} } }), "additional[0].variants.flist", ""],
  [
    "an unknown member of a variant",
    item({ variants: { alist: { help: "" } } }),
    "additional[0].variants.alist.help",
    "is not a member",
  ],
  [
    "a hint of a variant as text",
    item({ variants: { alist: { legacy_help: "yes" } } }),
    "additional[0].variants.alist.legacy_help",
    "must be true or false",
  ],
  [
    "an order that is not a list",
    { variants: { alist: { order: "a" } } },
    "variants.alist.order",
    "must be a list of item names",
  ],
  [
    "an order of anything but names",
    { variants: { alist: { order: [1] } } },
    "variants.alist.order",
    "must be a list of item names",
  ],
  ["a decimal bound", item({ type: "number", min: 0.5 }), "additional[0].min", "whole number"],
];

const pair = items({ use: "cookie" }, { name: "b", type: "string" });

/** Invalid files that only the program refuses. */
const wrongSense: [string, object, string, string][] = [
  [
    "min above max",
    item({ type: "number", min: 2, max: 1 }),
    "additional[0].min",
    "must not be more than max (1)",
  ],
  [
    "a default below min",
    item({ type: "number", min: 2, default: "1" }),
    "additional[0].default",
    "less than min (2)",
  ],
  [
    "a default above max",
    item({ type: "float", max: 2, default: "2.5" }),
    "additional[0].default",
    "more than max (2)",
  ],
  [
    "a default that is not an option",
    item({ type: "select", options: "a,b", default: "c" }),
    "additional[0].default",
    "must be one of the options a,b",
  ],
  ["an option twice", item({ type: "select", options: "a,a" }), "additional[0].options", "twice"],
  [
    "options with spaces",
    item({ type: "select", options: "a, b" }),
    "additional[0].options",
    "spaces",
  ],
  [
    "options that are not numbers",
    item({ type: "number", options: "1,two" }),
    "additional[0].options",
    '"two"',
  ],
  [
    "two items with the same name",
    items({ use: "cookie" }, { name: "cookie", type: "string" }),
    "additional[1]",
    'is named "cookie" like an earlier item',
  ],
  [
    "an item with the name of a common one",
    items({ name: "remark", type: "string" }),
    "additional[0]",
    "like a common item of this driver",
  ],
  [
    "a condition on an unknown item",
    items({ use: "cookie" }, { name: "b", type: "string", show_when: "cokie=x" }),
    "additional[1].show_when",
    'Did you mean "cookie"?',
  ],
  [
    "an order that leaves out an item",
    { ...pair, variants: { alist: { order: ["b"] } } },
    "variants.alist.order",
    "lacks cookie",
  ],
  [
    "an order with an item twice",
    { ...pair, variants: { alist: { order: ["b", "cookie", "b"] } } },
    "variants.alist.order[2]",
    'names "b" twice',
  ],
  [
    "an order with an unknown item",
    { ...pair, variants: { alist: { order: ["b", "cokie"] } } },
    "variants.alist.order[1]",
    'Did you mean "cookie"?',
  ],
  [
    "an order with an item that the family does not have",
    {
      ...items({ use: "cookie", families: ["openlist"] }, { name: "b", type: "string" }),
      variants: { alist: { order: ["b", "cookie"] } },
    },
    "variants.alist.order[1]",
    "which is not an item of this driver for alist",
  ],
  ["a condition on itself", item({ show_when: "a=1" }), "additional[0].show_when", "another item"],
  [
    "a condition on a value that is not an option",
    items({ name: "b", type: "select", options: "x,y" }, { use: "cookie", show_when: "b=x|z" }),
    "additional[1].show_when",
    'waits for "z"',
  ],
  [
    "a condition on a bool with another value",
    items({ name: "b", type: "bool" }, { use: "cookie", show_when: "b=yes" }),
    "additional[1].show_when",
    'waits for "yes"',
  ],
  [
    "a condition on a number out of bounds",
    items({ name: "b", type: "number", max: 3 }, { use: "cookie", show_when: "b=4" }),
    "additional[1].show_when",
    'waits for "4"',
  ],
  [
    "a cycle of conditions",
    items(
      { name: "a", type: "string", show_when: "b=1" },
      { name: "b", type: "string", show_when: "c=1" },
      { name: "c", type: "string", show_when: "a=1" },
    ),
    "additional[0].show_when",
    "hang on this one in turn",
  ],
];

describe("the reader of driver files", () => {
  it.each(wrongForm)("refuses %s, as the JSON Schema does", (_, file, member, reason) => {
    const whole: unknown = Array.isArray(file) ? file : { name: "Sample", ...(file as object) };
    const text = JSON.stringify(whole);
    const problem = expect.objectContaining({ member, reason: expect.stringContaining(reason) });
    expect(problemsOf(text)).toContainEqual(problem);
    expect(fitsSchema(JSON.parse(text))).toBe(false);
  });

  it.each(wrongSense)("refuses %s", (_, file, member, reason) => {
    const problem = expect.objectContaining({ member, reason: expect.stringContaining(reason) });
    expect(problemsOf(JSON.stringify({ name: "Sample", ...file }))).toContainEqual(problem);
  });

  it("reports file, line and column of every problem at once", () => {
    const text = `{
  "name": "Sample",
  "config": { "no_cahce": true },
  "additional": [
    { "name": "size", "type": "number", "default": "many" },
    { "name": "sort", "type": "select" }
  ]
}`;
    expect(problemsOf(text).map(({ line, column, member }) => [line, column, member])).toEqual([
      [3, 15, "config.no_cahce"],
    ]);
    const repaired = text.replace("no_cahce", "no_cache");
    expect(() => builtIn.reader({ file: "x.json", text: repaired })).toThrow(
      [
        "x.json:5:52: additional[0].default must be a whole number, written as text",
        "x.json:6:5: additional[1].options must list the values of a select, separated by commas",
      ].join("\n"),
    );
  });

  it("reports at most twenty problems of a file, and the number of further ones", () => {
    const file = items(...Array(50).fill({ name: "a", type: "nothing" }));
    const problems = problemsOf(JSON.stringify({ name: "Sample", ...file }));
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)?.reason).toBe("and 30 more");
  });

  it("finds positions in a trusted file", () => {
    const text = '{"name": "Sample",\n "additonal": []}';
    expect(() => builtIn.reader({ file: "x.json", text, trusted: true })).toThrow(
      "x.json:2:2: addit",
    );
    expect(() => builtIn.reader({ file: "x.json", text: "{", trusted: true })).toThrow(
      "x.json:1:2: ",
    );
  });

  it("returns a driver or problems for any text, and throws no other error", () => {
    const texts = readdirSync("src/data/drivers").map((file) =>
      readFileSync(`src/data/drivers/${file}`, "utf8"),
    );
    const damaged = fc
      .tuple(fc.constantFrom(...texts), fc.nat(), fc.nat(40), fc.string({ maxLength: 5 }))
      .map(([text, place, removed, inserted]) => {
        const at = place % text.length;
        return text.slice(0, at) + inserted + text.slice(at + removed);
      });
    const shaped = fc.record(
      {
        name: fc.oneof(fc.string(), fc.jsonValue()),
        config: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()),
        additional: fc.array(
          fc.record(
            {
              name: fc.constantFrom("a", "b", 1),
              use: fc.constantFrom("cookie", "order_by", null),
              type: fc.constantFrom("string", "number", "select", "bool", "float"),
              default: fc.constantFrom("", "1", "x", "true"),
              options: fc.constantFrom("", "1,x", ",", "x,x"),
              show_when: fc.constantFrom("", "a=1", "b=x|1", "a", "=", "a="),
              min: fc.oneof(fc.double(), fc.jsonValue()),
            },
            { requiredKeys: [] },
          ),
        ),
      },
      { requiredKeys: [] },
    );
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      damaged,
      shaped.map((file) => JSON.stringify(file)),
    );
    fc.assert(
      fc.property(text, fc.boolean(), (content, trusted) => {
        try {
          builtIn.reader({ file: "x.json", text: content, trusted });
        } catch (error) {
          expect(error).toBeInstanceOf(DriverFileError);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("sets every member of the message for any file", () => {
    const driver = driverOf(items({ name: "a", type: "string" }));
    expect(driver.config).toEqual({
      name: "Sample",
      localSort: false,
      onlyLocal: false,
      onlyProxy: false,
      noCache: false,
      noUpload: false,
      needMs: false,
      defaultRoot: "",
      alert: "",
      onlyIndices: false,
      preferProxy: false,
    });
    expect(driver.additional).toEqual([
      {
        name: "a",
        type: "string",
        default: "",
        options: "",
        required: false,
        help: "",
        description: "",
        label: "A",
        optionLabels: [],
        unit: "",
        fraction: false,
        families: [],
        secret: false,
        showWhen: "",
      },
    ]);
  });

  it("expands a shared item, with changes by the file", () => {
    const [plain, changed] = driverOf(
      items({ use: "password" }, { use: "refresh_token", required: true, help: "From the page." }),
    ).additional;
    expect(plain).toMatchObject({
      name: "password",
      type: "string",
      secret: true,
      required: false,
    });
    expect(changed).toMatchObject({
      secret: true,
      required: true,
      description: "From the page.",
      help: "",
    });
  });

  it("sets help for legacy pages only where the file does", () => {
    const [plain, hinted] = driverOf(
      items(
        { name: "a", type: "string", help: "What it is." },
        { name: "b", type: "string", help: "What it is.", legacy_help: true },
      ),
    ).additional;
    expect(plain).toMatchObject({ description: "What it is.", help: "" });
    expect(hinted).toMatchObject({ description: "What it is.", help: "What it is." });
  });

  it.each([
    ["an unknown family", { families: ["flist"] }, "families", "openlist, alist"],
    ["no family at all", { families: [] }, "families", "openlist, alist"],
    ["a guide without https", { guide: "http://example.com" }, "guide", "https://"],
    ["a variant of no family", { variants: { flist: {} } }, "variants.flist", "not a member"],
    [
      "a variant's wrong flag",
      { variants: { alist: { config: { local_sort: 1 } } } },
      "variants.alist.config.local_sort",
      "true or false",
    ],
    [
      "an item's wrong variant",
      item({ variants: { alist: { secret: true } } }),
      "additional[0].variants.alist.secret",
      "not a member",
    ],
  ])("refuses %s", (_, file, member, reason) => {
    const [problem] = problemsOf(JSON.stringify({ name: "X", ...file }));
    expect(problem).toMatchObject({ member, reason: expect.stringContaining(reason) });
    expect(fitsSchema({ name: "X", ...file })).toBe(false);
  });

  it("sets the root folder's default, and requires the root folder when there is one", () => {
    const root = (config: object, own: object = {}) =>
      driverOf({ config, ...items({ use: "root_folder_path", ...own }) }).additional[0];
    expect(root({ default_root: "/" })).toMatchObject({ default: "/", required: true });
    expect(root({})).toMatchObject({ default: "", required: false });
    expect(root({ default_root: "/" }, { required: false })).toMatchObject({ required: false });
  });

  it("freezes its results", () => {
    const driver = driverOf(items({ use: "cookie" }));
    const parts = [driver, driver.common, driver.additional, driver.config, driver.additional[0]];
    for (const part of [...parts, driver.common[0]]) expect(Object.isFrozen(part)).toBe(true);
  });

  it("shares the common items of equal drivers", () => {
    expect(driverOf({ name: "A" }).common).toBe(driverOf({ name: "B" }).common);
  });

  it("refuses invalid shared and common items and names the member", () => {
    const right = {
      shared: { file: "shared.json", text: "{}" },
      common: { file: "common.json", text: readFileSync("src/data/common-items.json", "utf8") },
      labels: readLabels(),
      offer: "openlist" as const,
    };
    const read = (file: "shared" | "common", text: string) => () =>
      createDriverReader({ ...right, [file]: { file: `${file}.json`, text } });
    expect(read("shared", '{"a": {"typ": "string"}}')).toThrow("typ is not a member");
    expect(read("shared", '{"valueOf": {"type": "string"}}')).toThrow("programs reserve");
    expect(read("shared", "[]")).toThrow("must be an object");
    expect(read("common", "{}")).toThrow("mount_path is missing");
    expect(read("common", right.common.text.replace('"30"', '"-1"'))).toThrow("less than min");
    expect(read("common", right.common.text.replace('"remark"', '"note"'))).toThrow(
      "note is not a common item",
    );
  });
});
