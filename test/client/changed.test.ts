import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { SettingSchema } from "../../gen/mooring/v1/setting_pb.js";
import { isChanged } from "../../src/client/changed.ts";

test.each([
  ["a value other than the default", { value: "a", default: "b", revision: 3n }, true],
  ["a value of a file, without a revision", { value: "a", default: "b" }, true],
  ["the default", { value: "b", default: "b", revision: 3n }, false],
  ["a masked secret that was saved", { value: "********", secret: true, revision: 3n }, true],
  ["a masked secret that was never saved", { value: "********", secret: true }, false],
  ["a setting that the service maintains", { value: "v1", flag: 2, revision: 1n }, false],
  ["the admin token", { key: "token", value: "********", secret: true, revision: 1n }, false],
])("%s counts as changed or not", (_, setting, changed) => {
  expect(isChanged(create(SettingSchema, { key: "some_key", ...setting }))).toBe(changed);
});
