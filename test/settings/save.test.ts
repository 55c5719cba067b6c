import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { FLAG, type SettingItem } from "../../src/settings/item.ts";
import type { SettingInput } from "../../src/settings/save.ts";
import { MASK } from "../../src/settings/value.ts";
import { failureOf } from "../backup/setting.ts";
import { temporaryPaths } from "../store/folder.ts";
import { definitions, type Parts, save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();
const goodToken = "t".repeat(32);

/** Saves inputs and returns the refusal; nothing may have changed then. */
async function refusal(parts: Parts, inputs: readonly SettingInput[]) {
  const before = parts.engine.snapshot();
  const failure = await failureOf(() => parts.settings.save(inputs, tester));
  expect(parts.engine.snapshot()).toBe(before);
  return failure;
}

/** The field and description of each violation. */
const violations = async (parts: Parts, inputs: readonly SettingInput[]) =>
  (await refusal(parts, inputs)).violations.map(({ field, description }) => [field, description]);

describe("a setting with a definition", () => {
  test("gets a new value, and no other member of the input", async () => {
    const parts = await testParts(newPath());
    const before = parts.settings.get("token");
    const sent = { help: "h", type: "select", options: "a,b", group: 4, flag: FLAG.public };
    await parts.settings.save([{ key: "token", value: goodToken, ...sent }], tester);
    const { key, value, revision, ...rest } = parts.settings.get("token");
    expect({ key, value, revision }).toEqual({ key: "token", value: goodToken, revision: 1 });
    expect(before).toMatchObject(rest);
    expect(rest.flag).toBe(FLAG.private);
  });

  test("cannot be made public, with a changed value or without", async () => {
    const parts = await testParts(newPath());
    await save(parts, { aria2_secret: "hidden" });
    for (const value of ["hidden", "other", MASK])
      await parts.settings.save([{ key: "aria2_secret", value, flag: FLAG.public }], tester);
    expect(parts.publicReads.settings(parts.publicReads.snapshot())).not.toHaveProperty(
      "aria2_secret",
    );
  });

  test("that is read-only is accepted unchanged, and skipped with its key when it is changed", async () => {
    const parts = await testParts(newPath());
    const { value } = parts.settings.get("version");
    expect(await save(parts, { version: value })).toMatchObject({ revision: 0 });
    const inputs = [
      { key: "version", value: "v9.9.9" },
      { key: "site_title", value: "Harbour" },
    ];
    const { result, commit } = await parts.settings.save(inputs, tester);
    expect(result).toEqual([{ key: "version", reason: expect.sentence("read-only") }]);
    expect(commit?.changes.map(({ key }) => key)).toEqual(["site_title"]);
    expect(parts.settings.get("version").value).toBe(value);
  });

  test("that is secret stays unchanged when its mask is sent back", async () => {
    const parts = await testParts(newPath());
    await save(parts, { aria2_secret: "hidden" });
    const saved = await save(parts, { aria2_secret: MASK, token: MASK, site_title: "Harbour" });
    expect(saved.commit?.changes.map(({ key }) => key)).toEqual(["site_title"]);
    expect(parts.settings.get("aria2_secret").value).toBe("hidden");
  });

  test("that is not secret may have the text of the mask as its value", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: MASK });
    expect(parts.settings.get("site_title").value).toBe(MASK);
  });

  test.each([
    ["", /at least 32 characters \(this one has 0\)/],
    ["t".repeat(31), /at least 32 characters \(this one has 31\)/],
    ["t".repeat(513), /at most 512 characters/],
    [`${"t".repeat(32)} `, /visible ASCII/],
    ["ü".repeat(40), /visible ASCII/],
  ])("the token is refused as %.40j, and the message does not quote it", async (value, reason) => {
    const parts = await testParts(newPath());
    await save(parts, { token: goodToken });
    const { message } = await refusal(parts, [{ key: "token", value }]);
    expect(message).toMatch(reason);
    if (value !== "") expect(message).not.toContain(value.trim());
  });

  test("is validated against its type, options and bounds, with all errors at once", async () => {
    const parts = await testParts(newPath());
    const wrong = { default_page_size: "many", allow_indexed: "yes", pagination_type: "none" };
    const right = { site_title: "never" };
    const inputs = Object.entries({ ...right, ...wrong }).map(([key, value]) => ({ key, value }));
    const failure = await refusal(parts, inputs);
    expect(failure.code).toBe(Code.InvalidArgument);
    expect(failure.violations.map(({ field }) => field)).toEqual([
      ...["settings[1].value", "settings[2].value", "settings[3].value"],
    ]);
    expect(failure.message).toMatch(/^default_page_size: .*\(and 2 more\)$/);
  });

  test("is stored without the white space around a number", async () => {
    const parts = await testParts(newPath());
    await save(parts, { default_page_size: " 42\n" });
    expect(parts.settings.get("default_page_size").value).toBe("42");
    expect(await save(parts, { default_page_size: "42 " })).toMatchObject({ revision: 1 });
  });

  test("is accepted unchanged, even if its value is invalid today", async () => {
    const path = newPath();
    const lenient = definitions.map((one) =>
      one.key === "default_page_size" ? { ...one, type: "string" as const } : one,
    );
    await save(await testParts(path, { definitions: lenient }), { default_page_size: "lots" });
    const parts = await testParts(path);
    await save(parts, { default_page_size: "lots", site_title: "Harbour" });
    expect(parts.settings.get("site_title").value).toBe("Harbour");
    expect((await refusal(parts, [{ key: "default_page_size", value: "few" }])).code).toBe(
      Code.InvalidArgument,
    );
  });
});

describe("a save", () => {
  test("of the whole list as it was read changes nothing", async () => {
    const parts = await testParts(newPath());
    await save(parts, { aria2_secret: "hidden", mine: "1", site_title: "x" });
    const list = parts.settings.list([]);
    expect(await parts.settings.save(list.map(asSent), tester)).toMatchObject({ revision: 1 });
    const masked = list.map((item) => ({ ...asSent(item), ...(item.secret && { value: MASK }) }));
    expect(await parts.settings.save(masked, tester)).toMatchObject({ revision: 1 });
  });

  test("without settings changes nothing", async () => {
    const parts = await testParts(newPath());
    expect(await parts.settings.save([], tester)).toMatchObject({ revision: 0 });
  });

  test("accepts each key once", async () => {
    const parts = await testParts(newPath());
    const twice = { key: "site_title", value: "x" };
    expect(await violations(parts, [twice, { key: "logo", value: "l" }, twice])).toEqual([
      ["settings[2].key", expect.sentence(/^site_title occurs twice/)],
    ]);
  });

  test("refuses a setting without a value", async () => {
    const parts = await testParts(newPath());
    expect(await violations(parts, [{ key: "site_title" }, { key: "mine" }])).toEqual([
      ["settings[0].value", expect.sentence(/^site_title has no value; send empty text/)],
      ["settings[1].value", expect.sentence(/^mine has no value/)],
    ]);
    await save(parts, { site_title: "" });
    expect(parts.settings.get("site_title").value).toBe("");
  });

  test("accepts at most 1,000 settings", async () => {
    const parts = await testParts(newPath());
    const many = Array.from({ length: 1_001 }, (_, at) => ({ key: `k${at}`, value: "" }));
    const { code, message } = await refusal(parts, many);
    expect(code).toBe(Code.InvalidArgument);
    expect(message).toMatch(/at most 1000 settings, this one has 1001/);
    const { commit } = await parts.settings.save(many.slice(1), tester);
    expect(commit?.changes).toHaveLength(1_000);
  });

  test("accepts values of at most 64 KiB, in bytes", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "ü".repeat(32_768), mine: "x".repeat(65_536) });
    for (const key of ["site_title", "mine"])
      expect((await refusal(parts, [{ key, value: `y${"ü".repeat(32_768)}` }])).message).toMatch(
        new RegExp(`^${key}: must not have more than 65536 bytes`),
      );
  });

  test.each(["a\0b", "\ud800"])("refuses invalid text: %j", async (value) => {
    const parts = await testParts(newPath());
    for (const key of ["site_title", "aria2_secret", "mine"])
      expect((await refusal(parts, [{ key, value }])).code).toBe(Code.InvalidArgument);
  });

  test("is refused for a managed setting, with the name of the file, unless unchanged", async () => {
    const managedBy = (key: string) => (key === "logo" ? "the file /etc/site.yaml" : undefined);
    const parts = await testParts(newPath(), { managedBy });
    const { value } = parts.settings.get("logo");
    await save(parts, { logo: value, site_title: "x" });
    const { code, message } = await refusal(parts, [{ key: "logo", value: "other" }]);
    expect(code).toBe(Code.FailedPrecondition);
    expect(message).toBe(
      "logo is managed by the file /etc/site.yaml: change it there; nothing was saved",
    );
  });
});

describe("a custom setting", () => {
  test("is created as described, private and of type string by default", async () => {
    const parts = await testParts(newPath());
    const described = { type: "select", options: "a,b", help: "why", group: 42, flag: FLAG.public };
    await parts.settings.save([{ key: "mine", value: "a", ...described }], tester);
    expect(parts.settings.get("mine")).toMatchObject({ value: "a", ...described, secret: false });
    await save(parts, { bare: "1" });
    expect(parts.settings.get("bare")).toMatchObject({
      ...{ type: "string", options: "", help: "", group: 0, flag: FLAG.private },
    });
    expect(parts.publicReads.settings(parts.publicReads.snapshot())).toMatchObject({ mine: "a" });
  });

  test("keeps its description when only a key and a value are sent", async () => {
    const parts = await testParts(newPath());
    const described = { type: "number", help: "why", group: 7, flag: FLAG.public };
    await parts.settings.save([{ key: "mine", value: "1", ...described }], tester);
    await save(parts, { mine: "2.5" });
    expect(parts.settings.get("mine")).toMatchObject({ value: "2.5", ...described, revision: 2 });
    expect(await violations(parts, [{ key: "mine", value: "two" }])).toEqual([
      ["settings[0].value", expect.sentence(/^mine: must be a number/)],
    ]);
  });

  test("can get a new description with its value", async () => {
    const parts = await testParts(newPath());
    await save(parts, { mine: "1" });
    const { commit } = await parts.settings.save(
      [{ key: "mine", value: "1", flag: FLAG.public, help: "now public" }],
      tester,
    );
    expect(commit?.changes).toMatchObject([{ key: "mine", oldValue: "1", newValue: "1" }]);
    expect(parts.settings.get("mine")).toMatchObject({ flag: FLAG.public, revision: 2 });
  });

  test.each<[Partial<SettingInput>, string, RegExp]>([
    [{ key: "" }, "key", /^a setting without a key: must not be empty/],
    [{ key: "k".repeat(256) }, "key", /more than 255 characters/],
    [{ key: "a\nb" }, "key", /control characters/],
    [{ type: "float" }, "type", /must be string, text, number, bool or select/],
    [{ type: "select" }, "options", /must list the choices/],
    [{ options: "a,b" }, "options", /must be empty for a string/],
    [{ group: 2 ** 31 }, "group", /whole number/],
    [{ flag: 4 }, "flag", /whole number from 0 to 3/],
    [{ help: "h".repeat(4_097) }, "help", /more than 4096 bytes/],
    [{ type: "bool", value: "yes" }, "value", /must be true or false/],
    [{ type: "select", options: "a,b", value: "c" }, "value", /must be one of a, b/],
  ])(
    "is refused as %.60j, with the name of the invalid member",
    async (members, member, reason) => {
      const parts = await testParts(newPath());
      const input = { key: "mine", value: "x", ...members };
      expect(await violations(parts, [input])).toEqual([
        [`settings[0].${member}`, expect.sentence(reason)],
      ]);
    },
  );

  test("that is read-only keeps its value until the flag is removed", async () => {
    const parts = await testParts(newPath());
    await parts.settings.save([{ key: "mine", value: "1", flag: FLAG.readonly }], tester);
    const changed = [{ key: "mine", value: "2", flag: FLAG.private }];
    const { result, commit } = await parts.settings.save(changed, tester);
    expect(result).toMatchObject([{ key: "mine" }]);
    expect(commit).toBeUndefined();
    await parts.settings.save([{ key: "mine", value: "1", flag: FLAG.private }], tester);
    await save(parts, { mine: "2" });
  });

  test.each(["__proto__", "constructor", "toString", "ключ", "a b", "🔑"])(
    "may have the key %s",
    async (key) => {
      const path = newPath();
      const parts = await testParts(path);
      const flag = FLAG.public;
      const { commit } = await parts.settings.save([{ key, value: "1", flag }], tester);
      const again = await testParts(path);
      for (const { settings, publicReads } of [parts, again]) {
        expect(settings.get(key).value).toBe("1");
        expect(Object.entries(publicReads.settings(publicReads.snapshot()))).toContainEqual([
          ...[key, "1"],
        ]);
      }
      expect(commit?.changes).toMatchObject([{ key, newValue: "1" }]);
    },
  );
});

describe("deleting", () => {
  test("deletes a deprecated setting permanently", async () => {
    const path = newPath();
    const parts = await testParts(path);
    await parts.settings.save([{ key: "mine", value: "1", flag: FLAG.deprecated }], tester);
    expect(await parts.settings.delete("mine", tester)).toMatchObject({ revision: 2 });
    for (const { settings } of [parts, await testParts(path)])
      expect(() => settings.get("mine")).toThrow('there is no setting "mine"');
    expect((await parts.history.get(2)).changes).toMatchObject([
      { key: "mine", oldValue: "1", newValue: null },
    ]);
  });

  test("refuses a setting with a definition, and a missing one", async () => {
    const parts = await testParts(newPath());
    await save(parts, { mine: "1" });
    for (const key of ["mine", "site_title", "token"]) {
      const failure = await failureOf(() => parts.settings.delete(key, tester));
      expect(failure.code).toBe(Code.FailedPrecondition);
      expect(failure.message).toMatch(`the setting "${key}" is in use`);
    }
    const failure = await failureOf(() => parts.settings.delete("nobody", tester));
    expect(failure.code).toBe(Code.NotFound);
    expect(failure.message).toMatch('"nobody"');
    expect(parts.engine.snapshot().revision).toBe(1);
  });
});

/** An item in the form that the web page sends back. */
function asSent({ key, value, help, type, options, group, flag }: SettingItem): SettingInput {
  return { key, value, help, type, options, group, flag };
}
