import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { FLAG, type SettingItem } from "../../src/settings/item.ts";
import type { SettingInput } from "../../src/settings/save.ts";
import { MASK } from "../../src/settings/value.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";
import { type Parts, save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();

/** Saves inputs and returns the refusal; nothing may have changed then. */
async function refusal(parts: Parts, inputs: readonly SettingInput[]) {
  const before = parts.ledger.snapshot();
  const failure = await failureOf(() => parts.settings.save(inputs, tester));
  expect(parts.ledger.snapshot()).toBe(before);
  return failure;
}

/** The field and description of each violation. */
const violations = async (parts: Parts, inputs: readonly SettingInput[]) =>
  (await refusal(parts, inputs)).violations.map(({ field, description }) => [field, description]);

describe("a setting with a definition", () => {
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

  test("is stored without the white space around a number", async () => {
    const parts = await testParts(newPath());
    await save(parts, { default_page_size: " 42\n" });
    expect(parts.settings.get("default_page_size").value).toBe("42");
    expect(await save(parts, { default_page_size: "42 " })).toMatchObject({ revision: 1 });
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

  test("accepts each key once, and reports all errors at once", async () => {
    const parts = await testParts(newPath());
    const twice = { key: "site_title", value: "x" };
    const wrong = { key: "allow_indexed", value: "yes" };
    expect(await violations(parts, [twice, wrong, twice])).toEqual([
      ["settings[1].value", expect.sentence(/^allow_indexed: must be true or false/)],
      ["settings[2].key", expect.sentence(/^site_title occurs twice/)],
    ]);
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
      type: "string",
      options: "",
      help: "",
      group: 0,
      flag: FLAG.private,
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
          key,
          "1",
        ]);
      }
      expect(commit?.changes).toMatchObject([{ key, newBody: "1" }]);
    },
  );
});

/** An item in the form that the web page sends back. */
function asSent({ key, value, help, type, options, group, flag }: SettingItem): SettingInput {
  return { key, value, help, type, options, group, flag };
}
