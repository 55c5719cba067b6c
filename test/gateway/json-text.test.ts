import { create, toJson } from "@bufbuild/protobuf";
import { ListValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { type Setting, SettingSchema } from "../../gen/mooring/v1/setting_pb.js";
import { ListSettingsResponseSchema } from "../../gen/mooring/v1/setting_service_pb.js";
import { createJsonText, JSON_OPTIONS } from "../../src/gateway/serialize.ts";
import { ticksDuring } from "../ticks-during.ts";

const settingsOf = (count: number): Setting[] =>
  Array.from({ length: count }, (_, at) =>
    create(SettingSchema, { key: `custom_${at}`, value: `<${at}>`, min: at, optionLabels: ["a"] }),
  );

const listOf = (settings: Setting[]) =>
  create(ListSettingsResponseSchema, { settings, revision: 7n, languageCode: "en" });

const field = ListSettingsResponseSchema.field.settings;

test.each([0, 1, 255, 256, 1_000])(
  "the text of a message is protobuf's JSON, also with a list of %i",
  (count) => {
    const list = listOf(settingsOf(count));
    const json = toJson(ListSettingsResponseSchema, list, JSON_OPTIONS);
    const text = createJsonText((text) => text);
    // The second time from the cache.
    for (let turn = 0; turn < 2; turn += 1) {
      expect(text(ListSettingsResponseSchema, list)).toBe(JSON.stringify(json));
      expect(text(ListSettingsResponseSchema, list, { member: field })).toBe(
        JSON.stringify((json as { settings: unknown }).settings),
      );
    }
    expect(list.settings).toHaveLength(count);
  },
);

test("options apply to the names of members and to elements alike", () => {
  const list = listOf(settingsOf(300));
  const loud = createJsonText((json) => json.toUpperCase());
  expect(loud(ListSettingsResponseSchema, list)).toBe(
    JSON.stringify(toJson(ListSettingsResponseSchema, list, JSON_OPTIONS)).toUpperCase(),
  );
});

test("of a list with one changed element only that element is encoded", () => {
  const settings = settingsOf(1_000);
  const written: unknown[] = [];
  const text = createJsonText((json) => {
    written.push(JSON.parse(json));
    return json;
  });
  text(ListSettingsResponseSchema, listOf(settings), { member: field, keepsParts: true });
  written.length = 0;
  const changed = create(SettingSchema, { key: "custom_500", value: "new" });
  const list = listOf(settings.with(500, changed));
  const made = text(ListSettingsResponseSchema, list, { member: field, keepsParts: true });
  expect(written).toEqual([toJson(SettingSchema, changed, JSON_OPTIONS)]);
  expect(JSON.parse(made)[500]).toMatchObject({ key: "custom_500", value: "new" });
  expect(JSON.parse(made)[501]).toMatchObject({ key: "custom_501", value: "<501>" });
});

test("a message that may change is encoded as a whole, and not cached", () => {
  const list = listOf(settingsOf(1_000));
  const json = toJson(ListSettingsResponseSchema, list, JSON_OPTIONS);
  const written: unknown[] = [];
  const text = createJsonText((json) => {
    written.push(JSON.parse(json));
    return json;
  });
  for (let turn = 0; turn < 2; turn += 1)
    expect(text(ListSettingsResponseSchema, list)).toBe(JSON.stringify(json));
  expect(written).toEqual([json, json]);
  expect(text(ListSettingsResponseSchema, list, { member: field })).toBe(
    JSON.stringify((json as { settings: unknown }).settings),
  );
});

test("protobuf's well-known messages have their own form", () => {
  const values = Array.from({ length: 500 }, (_, at) => ({
    kind: { case: "numberValue" as const, value: at },
  }));
  const list = create(ListValueSchema, { values });
  expect(createJsonText((text) => text)(ListValueSchema, list)).toBe(
    JSON.stringify(values.map(({ kind }) => kind.value)),
  );
});

describe("the elements of a long list are encoded before the message", () => {
  const noSignal = new AbortController();

  test("over several ticks of the event loop, and once", async () => {
    const settings = settingsOf(20_000);
    const list = listOf(settings);
    let written = 0;
    const text = createJsonText((json) => {
      written += 1;
      return json;
    });
    const { ticks } = await ticksDuring(async () =>
      text.prepare(ListSettingsResponseSchema, list, noSignal),
    );
    expect(ticks).toBeGreaterThan(2);
    expect(written).toBe(settings.length);
    const made = text(ListSettingsResponseSchema, list, { keepsParts: true });
    expect(JSON.parse(made)).toEqual(toJson(ListSettingsResponseSchema, list, JSON_OPTIONS));
    expect(written - settings.length).toBeLessThan(20);
    expect(text.prepare(ListSettingsResponseSchema, list, noSignal)).toBeUndefined();
  });

  test("but not those of a short one", () => {
    const text = createJsonText((json) => json);
    const list = listOf(settingsOf(100));
    expect(text.prepare(ListSettingsResponseSchema, list, noSignal)).toBeUndefined();
  });

  test("until the call ends", async () => {
    const text = createJsonText((json) => json);
    const ended = { signal: AbortSignal.abort(new Error("the client has left")) };
    const preparing = text.prepare(ListSettingsResponseSchema, listOf(settingsOf(50_000)), ended);
    await expect(preparing).rejects.toThrow("the client has left");
  });

  test("and an element without an encoding fails with the whole message", async () => {
    const text = createJsonText((json) => json);
    const list = listOf([...settingsOf(300), create(SettingSchema, { key: "\ud800" })]);
    await text.prepare(ListSettingsResponseSchema, list, noSignal);
    expect(() => text(ListSettingsResponseSchema, list, { keepsParts: true })).toThrow(
      /cannot be encoded/,
    );
  });
});
