import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ConfigItem, type DriverInfo, itemsOf } from "../../src/drivers/driver-info.ts";
import { choicesOf, defaultOf } from "../../src/drivers/item-value.ts";
import { driverJsonSchema } from "../../src/drivers/schema.ts";
import { validateDriverConfig } from "../../src/drivers/validate.ts";
import { anyText } from "../any-text.ts";
import { builtIn, builtInDriver, driverOf } from "./sample.ts";

/**
 * Fictitious drivers for combinations that no built-in one has: chains, empty conditions, float
 * conditions.
 */
/** Keywords in addition to the standard's. */
const keywords = ["x-unit", "x-option-labels", "x-families"];

const invented = [
  driverOf({
    name: "Chain",
    additional: [
      { name: "mode", type: "select", options: "a,b", default: "a" },
      { name: "path", type: "string", required: true, show_when: "mode=a" },
      { name: "depth", type: "number", required: true, show_when: "path=x|y" },
      { name: "extra", type: "text", required: true, show_when: "path=|z" },
      { name: "last", type: "select", options: "1,2", required: true, show_when: "depth=1|2|30" },
    ],
  }),
  driverOf({
    name: "Kinds",
    additional: [
      { name: "must", type: "select", options: "a,b", required: true },
      { name: "none", type: "select", options: ",a,b", required: true },
      { name: "part", type: "float", min: -0.5, max: 0.5 },
      { name: "step", type: "float", options: "0.5,1,-2", required: true },
      { name: "on", type: "bool", default: "true" },
      { name: "when_off", type: "string", required: true, show_when: "on=false" },
      { name: "when_half", type: "number", required: true, show_when: "step=0.5" },
      { name: "filled", type: "string", required: true, default: "x", show_when: "on=true" },
    ],
  }),
  driverOf({
    name: "Ways",
    additional: [
      { name: "way", type: "select", options: "a,b", required: true, required_unless: "token" },
      { name: "user", type: "string", required: true, required_unless: "token,cookie" },
      { name: "pass", type: "text", required: true, show_when: "way=a", required_unless: "token" },
      { name: "size", type: "number", required: true, required_unless: "cookie" },
      { name: "token", type: "string", required: true, required_unless: "user" },
      { name: "cookie", type: "text" },
    ],
  }),
];

const ajv = new Ajv2020({ strict: true, allErrors: true, keywords });
const compile = (driver: DriverInfo): ValidateFunction => ajv.compile(driverJsonSchema(driver));

/** Values that are invalid for most items, or just outside the valid ones of this item. */
function anythingFor(item: ConfigItem): fc.Arbitrary<unknown> {
  const texts = [item.default, ...item.options.split(","), "", "true", "30", " "];
  const bounds = [item.min, item.max].flatMap((bound) =>
    bound === undefined ? [] : [bound, bound - 1, bound + 1, bound + 0.5],
  );
  const numbers = [0, 1, -1, 1.5, -0, 2 ** 53, 2 ** 53 - 1, 1e300, Number(item.default) || 2];
  return fc.oneof(
    fc.constantFrom<unknown>(...texts, ...bounds, ...numbers, true, false, null),
    anyText({ maxLength: 8 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom<unknown>([], {}, ["a"], "a".repeat(65_537), "💾".repeat(40_000)),
  );
}

function rightFor(item: ConfigItem): fc.Arbitrary<unknown> {
  const choices = choicesOf(item)?.filter((choice) => choice !== "");
  if (choices !== undefined) return fc.constantFrom<unknown>(...choices);
  if (item.type === "bool") return fc.boolean();
  const { min = -5, max = min + 100 } = item;
  if (item.type === "number") return fc.integer({ min: Math.ceil(min), max: Math.floor(max) });
  if (item.type === "float") return fc.double({ min, max, noNaN: true });
  return fc.constantFrom(item.default || "x", "/", "x", "y", "z");
}

/** A valid configuration with up to three items removed, emptied or replaced by invalid values. */
function configFor(driver: DriverInfo): fc.Arbitrary<Record<string, unknown>> {
  const items = itemsOf(driver);
  const parts = items.map((item) => {
    const needed = item.required && defaultOf(item) === undefined;
    const arbitrary = needed ? rightFor(item) : fc.option(rightFor(item), { nil: undefined });
    return arbitrary.map((value): [string, unknown] => [item.name, value]);
  });
  const slip = fc.constantFrom(...items).chain((item) =>
    fc.oneof(
      fc.constantFrom<[string, unknown]>([item.name, undefined], [item.name, ""], ["cokie", true]),
      anythingFor(item).map((value): [string, unknown] => [item.name, value]),
    ),
  );
  return fc
    .tuple(fc.tuple(...parts), fc.oneof(fc.constant([]), fc.array(slip, { maxLength: 3 })))
    .map(([right, slips]) => Object.fromEntries([...right, ...slips]))
    .map((config) => JSON.parse(JSON.stringify(config)) as Record<string, unknown>);
}

const drivers = [...builtIn.drivers, ...invented];
const cases = drivers.map((driver) => [driver.config.name, driver] as const);

describe("a driver's JSON Schema", () => {
  const seen = { right: 0, wrong: 0 };
  it.each(cases)("accepts the same configurations as the validation: %s", (_, driver) => {
    const fits = compile(driver);
    fc.assert(
      fc.property(configFor(driver), (config) => {
        const { violations, values } = validateDriverConfig(driver, config);
        expect({ accepted: fits(config), violations }).toEqual({
          accepted: violations.length === 0,
          violations,
        });
        seen[violations.length === 0 ? "right" : "wrong"] += 1;
        // The result with defaults is valid for both, too.
        if (violations.length === 0) expect(fits(values)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it("was compared with valid and invalid configurations", () => {
    expect(Math.min(seen.right, seen.wrong)).toBeGreaterThan(4 * cases.length);
  });

  it.each(cases)("is a valid schema of draft 2020-12: %s", (_, driver) => {
    const schema = driverJsonSchema(driver);
    expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true);
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });

  it.each(cases)("has valid defaults: %s", (_, driver) => {
    const schema = driverJsonSchema(driver) as {
      properties: Record<string, { default?: unknown }>;
    };
    for (const [name, property] of Object.entries(schema.properties)) {
      if (!("default" in property)) continue;
      expect(ajv.validate(property, property.default), `${driver.config.name}/${name}`).toBe(true);
    }
  });

  it("describes each item once, in the form's order, with one type per property", () => {
    for (const driver of drivers) {
      const schema = driverJsonSchema(driver) as {
        properties: Record<string, { type: unknown; title: string }>;
      };
      expect(Object.keys(schema.properties)).toEqual(itemsOf(driver).map(({ name }) => name));
      const labels = itemsOf(driver).map(({ label }) => label);
      expect(Object.values(schema.properties).map(({ title }) => title)).toEqual(labels);
      for (const { type } of Object.values(schema.properties))
        expect(["string", "integer", "number", "boolean"]).toContain(type);
    }
  });

  it("expresses number bounds, options, defaults, secrets and conditions as keywords", () => {
    const driver = driverOf({
      config: { alert: "info|Mind the gap." },
      additional: [
        { name: "login", type: "select", options: "guest,password", default: "guest" },
        { use: "password", required: true, help: "Yours.", show_when: "login=password" },
        { name: "size", type: "number", default: "4", min: 1, max: 64, help: "In MiB." },
      ],
    });
    const schema = driverJsonSchema(driver);
    expect(schema).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "Sample",
      description: "Mind the gap.",
      type: "object",
      required: ["mount_path"],
      additionalProperties: false,
      properties: {
        login: { type: "string", enum: ["guest", "password"], default: "guest" },
        password: {
          type: "string",
          writeOnly: true,
          description: "Yours. Applies only while login is password.",
        },
        size: {
          type: "integer",
          minimum: 1,
          maximum: 64,
          default: 4,
          description: "In MiB.",
        },
      },
    });
    expect(schema).toMatchObject({
      if: { properties: { login: { enum: ["password"] } }, required: ["login"] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword's name.
      then: {
        required: ["password"],
        properties: { password: { type: "string", minLength: 1 } },
      },
    });
  });

  it("has no combination at its top level, which form libraries apply to the whole form", () => {
    for (const driver of drivers) {
      const top = Object.keys(driverJsonSchema(driver));
      for (const keyword of ["allOf", "anyOf", "oneOf", "$ref"]) expect(top).not.toContain(keyword);
    }
  });

  it("marks every secret of a built-in driver writeOnly, and no other item", () => {
    const driver = builtInDriver("S3");
    const { properties } = driverJsonSchema(driver) as {
      properties: Record<string, { writeOnly?: boolean }>;
    };
    const marked = Object.keys(properties).filter((name) => properties[name]?.writeOnly === true);
    expect(marked).toEqual(["secret_access_key", "session_token"]);
  });
});
