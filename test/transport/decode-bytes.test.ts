import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { ListSettingsRequestSchema } from "../../gen/mooring/v1/setting_service_pb.js";
import { decodeBinary, MESSAGE_LIMITS } from "../../src/transport/decode.ts";

test.each([
  ["a Buffer", (bytes: Uint8Array) => Buffer.from(bytes)],
  ["an Uint8Array", (bytes: Uint8Array) => new Uint8Array(bytes)],
])("fields of bytes are unchanged when the memory of %s is released", async (_, copy) => {
  const message = create(AnySchema, { typeUrl: "t", value: new Uint8Array([1, 2, 3]) });
  const body = copy(toBinary(AnySchema, message));
  const decoded = await decodeBinary(AnySchema, body);
  body.fill(0);
  expect(decoded).toEqual(message);
});

test("elements of a packed list count as values", () => {
  const groups = new Array<number>(3_000).fill(1);
  const bytes = toBinary(ListSettingsRequestSchema, create(ListSettingsRequestSchema, { groups }));
  const limits = { ...MESSAGE_LIMITS, values: 2_500 };
  expect(() => decodeBinary(ListSettingsRequestSchema, bytes, limits)).toThrow(
    "the request holds more than 2500 values",
  );
});
