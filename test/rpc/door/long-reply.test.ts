import {
  create,
  type DescMessage,
  fromBinary,
  type Message,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  type GetPublicSettingsResponse,
  GetPublicSettingsResponseSchema,
} from "../../../gen/mooring/v1/public_service_pb.js";
import {
  GetSettingResponseSchema,
  type ListSettingsResponse,
  ListSettingsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { jsonOptions } from "../../../src/rpc/door/connect-limit.ts";
import { binaryInTurns, jsonInTurns, longFieldOf } from "../../../src/rpc/door/long-reply.ts";

const COUNTS = [501, 600, 1_000, 1_234];
/** Text that looks like a part of the reply. */
const TRAP = '"settings":[],"settings":{} \u2028 é 😀 \\';

function list(count: number): ListSettingsResponse {
  const settings = Array.from({ length: count }, (_, at) => ({ key: `k${at}`, value: TRAP }));
  return create(ListSettingsResponseSchema, { settings, revision: 7n });
}

function map(count: number): GetPublicSettingsResponse {
  const entries = Array.from({ length: count }, (_, at) => [`k${at}`, TRAP]);
  const settings = Object.fromEntries([...entries, ["__proto__x", "1"], ["7", "seven"]]);
  return create(GetPublicSettingsResponseSchema, { settings, revision: 7n });
}

function longIn(desc: DescMessage, message: Message) {
  const field = longFieldOf(desc, message);
  if (field === undefined) throw new Error("nothing is long in it");
  return field;
}

type Long = readonly [kind: string, schema: DescMessage, make: (count: number) => Message];
const longs: readonly Long[] = [
  ["list", ListSettingsResponseSchema, list],
  ["map", GetPublicSettingsResponseSchema, map],
];

describe.each(longs)("a reply with a long %s", (_kind, schema, make) => {
  test.each(COUNTS)("of %i elements is the same in bytes", async (count) => {
    const message = make(count);
    const parts = await binaryInTurns(schema, longIn(schema, message), message);
    expect(parts.length).toBe(
      1 + Math.ceil((count + (schema === ListSettingsResponseSchema ? 0 : 2)) / 100),
    );
    expect(fromBinary(schema, Buffer.concat(parts))).toEqual(message);
    expect(Buffer.concat(parts).length).toBe(toBinary(schema, message).length);
  });

  test.each(COUNTS)("of %i elements is the same in JSON", async (count) => {
    const message = make(count);
    const parts = await jsonInTurns(schema, longIn(schema, message), message);
    expect(Buffer.concat(parts).toString()).toBe(toJsonString(schema, message, jsonOptions));
  });

  test("lets others have their turn", async () => {
    const message = make(1_000);
    let turns = 0;
    const count = (): void => {
      turns += 1;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    await binaryInTurns(schema, longIn(schema, message), message);
    clearImmediate(immediate);
    expect(turns).toBeGreaterThanOrEqual(9);
  });
});

test("a short reply, and one without lists, has no long field", () => {
  expect(longFieldOf(ListSettingsResponseSchema, list(500))).toBeUndefined();
  const one = create(GetSettingResponseSchema, { setting: { key: "k" } });
  expect(longFieldOf(GetSettingResponseSchema, one)).toBeUndefined();
});
