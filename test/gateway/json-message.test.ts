import { createRegistry, type DescMessage, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ValidateDriverConfigRequestSchema } from "../../gen/mooring/v1/driver_service_pb.js";
import { SaveSettingsRequestSchema } from "../../gen/mooring/v1/setting_service_pb.js";
import { UpdateSiteRequestSchema } from "../../gen/mooring/v1/site_service_pb.js";
import { fieldFromJson, messageFromJson } from "../../src/gateway/rest/json-message.ts";
import { completeReading } from "../../src/gateway/rest/tolerance.ts";

const rules = { reading: completeReading({}), registry: createRegistry() };

const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `key ${at}`);
const entries = (count: number): Record<string, string> =>
  Object.fromEntries(names(count).map((name) => [name, `of ${name}`]));

test.each<[string, DescMessage, JsonValue]>([
  ["a map", ValidateDriverConfigRequestSchema, { driver: "d", text_values: entries(2_001) }],
  [
    "a map and lists of messages in it",
    UpdateSiteRequestSchema,
    {
      name: "one",
      site: {
        include: { patterns: names(1_500) },
        overrides: { values: entries(700) },
        exclude: { patterns: names(3) },
        url: "http://a",
      },
    },
  ],
  [
    "a list of messages",
    SaveSettingsRequestSchema,
    { reason: "r", settings: names(999).map((key) => ({ key, value: "v", flag: 1 })) },
  ],
])("%s that is long is parsed in several ticks with the same result", async (_name, desc, json) => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (turns < 10_000) setImmediate(count);
  };
  setImmediate(count);
  const message = await messageFromJson(desc, structuredClone(json), rules);
  expect(turns).toBeGreaterThan(2);
  turns = 10_000;
  expect(message).toEqual(fromJson(desc, json));
});

test.each<[JsonValue, string]>([
  [{ ...entries(1_200), "key 900": 5 }, 'site.overrides.values["key 900"]: expected a string'],
  [entries(33_334), "the body holds more than 100000 values"],
])("an invalid long map is refused with its position", async (values, problem) => {
  const read = async () =>
    messageFromJson(UpdateSiteRequestSchema, { site: { overrides: { values } } }, rules);
  await expect(read).rejects.toThrow(problem);
});

describe("a body that is one field", () => {
  const [, site] = UpdateSiteRequestSchema.fields;
  if (site === undefined) throw new Error("no field");
  const readSite = async (json: JsonValue) =>
    fieldFromJson(UpdateSiteRequestSchema, site, json, rules);

  test("with a long map in it is parsed in several ticks with the same result", async () => {
    const json = { url: "http://a", overrides: { values: entries(700) } };
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns < 10_000) setImmediate(count);
    };
    setImmediate(count);
    const message = await readSite(structuredClone(json));
    expect(turns).toBeGreaterThan(2);
    turns = 10_000;
    expect(message).toEqual(fromJson(UpdateSiteRequestSchema, { site: json }));
  });

  test.each<[JsonValue, string]>([
    [{ ...entries(1_200), "key 900": 5 }, 'overrides.values["key 900"]: expected a string'],
    [entries(33_334), "the body holds more than 100000 values"],
  ])("with an invalid long map is refused with its position", async (values, problem) => {
    await expect(readSite({ overrides: { values } })).rejects.toThrow(problem);
  });
});
