import {
  createRegistry,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ValidateDriverConfigRequestSchema } from "../../gen/mooring/v1/driver_service_pb.js";
import { SaveSettingsRequestSchema } from "../../gen/mooring/v1/setting_service_pb.js";
import { UpdateSiteRequestSchema } from "../../gen/mooring/v1/site_service_pb.js";
import { fieldFromJson, messageFromJson } from "../../src/gateway/rest/json-message.ts";
import { completeReading } from "../../src/gateway/rest/reading.ts";
import { ticksDuring } from "../ticks-during.ts";

const rules = { reading: completeReading({}), registry: createRegistry() };

const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `key ${at}`);
const entries = (count: number): Record<string, string> =>
  Object.fromEntries(names(count).map((name) => [name, `of ${name}`]));

const readField = async (desc: DescMessage, name: string, json: JsonValue) =>
  fieldFromJson(desc, desc.field[name] as DescField, structuredClone(json), rules);

const UPDATE = {
  include: { patterns: names(1_500) },
  overrides: { values: entries(700) },
  exclude: { patterns: names(3) },
  url: "http://a",
};

const SETTINGS = names(999).map((key) => ({ key, value: "v", flag: 1 }));

test.each<[string, DescMessage, JsonObject, field?: string]>([
  ["a map", ValidateDriverConfigRequestSchema, { driver: "d", text_values: entries(2_001) }],
  ["a map and lists in a message", UpdateSiteRequestSchema, { name: "one", site: UPDATE }],
  ["a body that is one field", UpdateSiteRequestSchema, { site: UPDATE }, "site"],
  ["a body that is a list", SaveSettingsRequestSchema, { settings: SETTINGS }, "settings"],
  ["a list of messages", SaveSettingsRequestSchema, { reason: "r", settings: SETTINGS }],
])(
  "%s that is long is parsed in several ticks with the same result",
  async (_, desc, json, field) => {
    const { ticks, result } = await ticksDuring(async () =>
      field === undefined
        ? messageFromJson(desc, structuredClone(json), rules)
        : readField(desc, field, json[field] ?? null),
    );
    expect(ticks).toBeGreaterThan(2);
    expect(result).toEqual(fromJson(desc, json));
  },
);

test.each<[JsonValue, string]>([
  [{ ...entries(1_200), "key 900": 5 }, 'overrides.values["key 900"]: expected a string'],
  [entries(33_334), "the body holds more than 100000 values"],
])(
  "an invalid long map is refused with its position, in a message and alone",
  async (values, problem) => {
    const update = { overrides: { values } };
    const read = async () =>
      messageFromJson(UpdateSiteRequestSchema, structuredClone({ site: update }), rules);
    await expect(read).rejects.toThrow(problem.replace("overrides", "site.overrides"));
    await expect(readField(UpdateSiteRequestSchema, "site", update)).rejects.toThrow(problem);
  },
);
