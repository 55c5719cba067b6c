import { describe, expect, it } from "vitest";
import { typedValues, validateDriverConfig } from "../../src/drivers/validate.ts";
import { builtIn, builtInDriver, driverOf } from "./sample.ts";

const driver = driverOf({
  config: { no_cache: true },
  additional: [
    { name: "address", type: "string", required: true },
    { use: "password", required: true, show_when: "login=password" },
    { name: "login", type: "select", options: "guest,password,token", default: "guest" },
    { use: "cookie", show_when: "login=token" },
    { name: "size", type: "number", default: "4", min: 1, max: 64 },
    { name: "rate", type: "float", min: 0.5 },
    { name: "level", type: "number", options: "0,1,2", default: "1" },
    { name: "sort", type: "select", options: "name,size" },
    { name: "thumbs", type: "bool", required: true },
    { name: "notes", type: "text" },
  ],
});
const right = { mount_path: "/a", address: "https://nas.example" };

const violationsOf = (values: unknown) =>
  validateDriverConfig(driver, values).violations.map((one) => `${one.field}: ${one.description}`);

describe("the validation of a driver's configuration", () => {
  it("adds defaults, sets a bool without one to false, and omits items without value and default", () => {
    const { violations, values, textValues } = validateDriverConfig(driver, right);
    expect(violations).toEqual([]);
    expect(values).toEqual({
      mount_path: "/a",
      web_proxy: false,
      webdav_policy: "302_redirect",
      disable_proxy_sign: false,
      disable_index: false,
      enable_sign: false,
      address: "https://nas.example",
      login: "guest",
      size: 4,
      level: 1,
      thumbs: false,
    });
    expect(textValues).toMatchObject({
      size: "4",
      thumbs: "false",
      address: "https://nas.example",
    });
  });

  it("returns values that pass again unchanged, typed and as text", () => {
    const first = validateDriverConfig(driver, { ...right, rate: 0.75, notes: "a\nb" });
    expect(validateDriverConfig(driver, first.values)).toEqual(first);
    expect(validateDriverConfig(driver, typedValues(driver, first.textValues))).toEqual(first);
  });

  it.each([
    [{ address: undefined }, "address: is required"],
    [{ address: "" }, "address: is required and must not be empty"],
    [{ mount_path: "" }, "mount_path: is required and must not be empty"],
    [{ address: 1 }, "address: must be text, not a number"],
    [{ address: null }, "address: must be text, not null"],
    [{ notes: ["a"] }, "notes: must be text, not an array"],
    [{ size: "4" }, "size: must be a whole number, not text"],
    [{ size: 1.5 }, "size: must be a whole number"],
    [{ size: Number.NaN }, "size: must be a whole number"],
    [{ size: 0 }, "size: must not be less than 1"],
    [{ size: 65 }, "size: must not be more than 64"],
    [{ order: 2 ** 53 }, "order: must not be more than 9007199254740991"],
    [{ rate: 0.25 }, "rate: must not be less than 0.5"],
    [{ rate: Number.POSITIVE_INFINITY }, "rate: must be a number"],
    [{ level: 3 }, "level: must be one of 0, 1, 2"],
    [{ login: "qr" }, "login: must be one of guest, password, token"],
    [{ login: "" }, "login: must be one of guest, password, token"],
    [{ sort: "date" }, "sort: must be one of (empty), name, size"],
    [{ thumbs: "true" }, "thumbs: must be true or false, not text"],
    [{ thumbs: 1 }, "thumbs: must be true or false, not a number"],
    [{ adress: "x" }, 'adress: is not an item of this driver. Did you mean "address"?'],
    [{ cache_expiration: 30 }, "cache_expiration: is not an item of this driver."],
    [{ constructor: 1 }, "constructor: is not an item of this driver."],
    [{ login: "password" }, "password: is required"],
    [{ login: "password", password: "" }, "password: is required and must not be empty"],
  ])("reports for %j: %s", (change, expected) => {
    const values = Object.fromEntries(
      Object.entries({ ...right, ...change }).filter(([, value]) => value !== undefined),
    );
    expect(violationsOf(values)).toEqual([expected]);
  });

  it("accepts an empty value for an optional select without a default", () => {
    expect(violationsOf({ ...right, sort: "" })).toEqual([]);
  });

  it("keeps a hidden item's value, which may be empty but not of the wrong type", () => {
    const hidden = validateDriverConfig(driver, {
      ...right,
      password: "typed earlier",
      cookie: "",
    });
    expect(hidden.violations).toEqual([]);
    expect(hidden.values).toMatchObject({ password: "typed earlier", cookie: "" });
    expect(violationsOf({ ...right, password: "" })).toEqual([]);
    expect(violationsOf({ ...right, password: 5 })).toEqual([
      "password: must be text, not a number",
    ]);
  });

  it("uses the default of an absent item in conditions", () => {
    const hanging = driverOf({
      additional: [
        { name: "mode", type: "select", options: "a,b", default: "a" },
        { name: "path", type: "string", required: true, show_when: "mode=a" },
        { name: "depth", type: "number", required: true, show_when: "path=x|y" },
        { name: "extra", type: "string", required: true, show_when: "path=" },
      ],
    });
    const fields = (values: object) =>
      validateDriverConfig(hanging, { mount_path: "/", ...values }).violations.map((v) => v.field);
    expect(fields({})).toEqual(["path", "extra"]);
    expect(fields({ mode: "b" })).toEqual([]);
    expect(fields({ path: "x" })).toEqual(["depth"]);
    expect(fields({ path: "z" })).toEqual([]);
    // The item of the condition is hidden itself, so nothing is required.
    expect(fields({ mode: "b", path: "x" })).toEqual([]);
  });

  it("accepts a default that is not among the options", () => {
    const { violations, values } = validateDriverConfig(builtInDriver("115 Cloud"), {
      mount_path: "/115",
      qrcode_source: "linux",
    });
    expect(violations).toEqual([]);
    expect(values).toMatchObject({ qrcode_source: "linux", limit_rate: 2 });
  });

  it("limits the length of values in characters", () => {
    expect(violationsOf({ ...right, address: "💾".repeat(65_536) })).toEqual([]);
    const long = { ...right, address: "a".repeat(65_537), notes: "a".repeat(65_537) };
    expect(violationsOf(long)).toEqual(["address: is longer than 65536 characters"]);
  });

  it("reports at most a hundred violations", () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`x${index}`, 1]));
    expect(violationsOf(many)).toHaveLength(100);
  });

  it.each([[[]], [null], ["text"], [3], [undefined]])("refuses %j as a whole", (values) => {
    expect(violationsOf(values)).toEqual([expect.stringMatching(/^values: must be an object/)]);
  });

  it("accepts names of members that all objects have", () => {
    const values: unknown = JSON.parse('{"__proto__": {"address": "x"}, "mount_path": "/"}');
    expect(violationsOf(values)).toEqual([
      "__proto__: is not an item of this driver.",
      "address: is required",
    ]);
  });

  it("quotes no value in a description", () => {
    for (const each of builtIn.drivers) {
      const items = [...each.common, ...each.additional];
      const values = Object.fromEntries(items.map(({ name }) => [name, "hunter2-value"]));
      const wrong = Object.fromEntries(items.map(({ name }) => [name, ["hunter2-value"]]));
      const results = [validateDriverConfig(each, values), validateDriverConfig(each, wrong)];
      for (const { violations } of results) {
        expect(violations.length).toBeGreaterThan(0);
        expect(JSON.stringify(violations)).not.toContain("hunter2");
      }
    }
  });
});

describe("values that are all text", () => {
  const typed = (values: Record<string, string>) => typedValues(driver, values);

  it("are converted to numbers and booleans by the type of the item", () => {
    expect(typed({ size: "12", rate: "0.5", thumbs: "true", address: "12", level: "-3" })).toEqual({
      size: 12,
      rate: 0.5,
      thumbs: true,
      address: "12",
      level: -3,
    });
  });

  it("are absent when empty, unless the item is text", () => {
    expect(typed({ size: "", thumbs: "", address: "", sort: "" })).toEqual({
      address: "",
      sort: "",
    });
  });

  it("remain text when they cannot be parsed, and the validation reports them", () => {
    const values = { size: "1e1", rate: "1,5", thumbs: "yes", unknown: "1" };
    expect(typed(values)).toEqual(values);
    expect(violationsOf({ ...right, ...typed({ size: " 4" }) })).toEqual([
      "size: must be a whole number, not text",
    ]);
  });
});
