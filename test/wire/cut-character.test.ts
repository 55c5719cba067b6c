import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { enveloped } from "./raw/cuttable.ts";
import { askHttp2, textOf } from "./raw/refusal.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);

// An error message has a key up to its 255th unit, which may be half of a character.
const { getSetting } = SettingService.method;
const request = create(getSetting.input, { key: `a${"\u{20000}".repeat(200)}` });
const bytes = Buffer.from(toBinary(getSetting.input, request));
const path = "/mooring.v1.SettingService/GetSetting";

test.each<[type: string, path: string, body: Buffer, reply: RegExp]>([
  ["application/json", path, Buffer.from(toJsonString(getSetting.input, request)), /"not_found"/],
  ["application/proto", path, bytes, /"not_found"/],
  ["application/grpc-web+proto", path, enveloped(bytes), /grpc-status: 5\b/],
  ["application/grpc", path, enveloped(bytes), /grpc-status: 5\b/],
])("an error whose message is cut within a character is answered: %s", async (...sent) => {
  const [type, path, body, reply] = sent;
  const fields = { ":method": "POST", ":path": path, authorization: TOKEN };
  const answer = await askHttp2(service.port, { ...fields, "content-type": type }, body);
  expect(textOf(answer)).toMatch(reply);
});
