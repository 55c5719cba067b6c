import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDriverReader } from "../../src/drivers/definition.ts";
import { DriverFileError } from "../../src/drivers/problem.ts";
import { readLabels } from "../../src/messages/label.ts";
import { builtIn, driverOf } from "./sample.ts";
import { items, wrongForm, wrongSense } from "./wrong-file.ts";

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

describe("the reader of driver files", () => {
  it.each(wrongForm)("refuses %.90j, as the JSON Schema does: %s", (file, member, reason) => {
    const whole: unknown = Array.isArray(file) ? file : { name: "Sample", ...(file as object) };
    const text = JSON.stringify(whole);
    const problem = expect.objectContaining({ member, reason: expect.stringContaining(reason) });
    expect(problemsOf(text)).toContainEqual(problem);
    expect(fitsSchema(JSON.parse(text))).toBe(false);
  });

  it.each(wrongSense)("refuses %.90j: %s", (file, member, reason) => {
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
              required: fc.boolean(),
              required_unless: fc.constantFrom("", "a", "b", "a,b", ",", "cookie"),
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
      { numRuns: 1_000 },
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
        destination: false,
        showWhen: "",
        requiredUnless: "",
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
    expect(read("shared", '{"valueOf": {"type": "string"}}')).toThrow("reserved name");
    expect(read("shared", "[]")).toThrow("must be an object");
    expect(read("common", "{}")).toThrow("mount_path is missing");
    expect(read("common", right.common.text.replace('"30"', '"-1"'))).toThrow("less than min");
    expect(read("common", right.common.text.replace('"remark"', '"note"'))).toThrow(
      "note is not a common item",
    );
  });
});
