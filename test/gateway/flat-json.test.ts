import {
  create,
  createFileRegistry,
  fromJson,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  Int64ValueSchema,
  StringValueSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFlatJson } from "../../src/gateway/flat-json.ts";
import { createJsonText, escapeHtml, JSON_OPTIONS } from "../../src/gateway/serialize.ts";

const registry = createFileRegistry(
  fromJson(FileDescriptorProtoSchema, {
    name: "flat.proto",
    package: "flat",
    syntax: "proto3",
    messageType: [
      messageOf("Flat", {
        some_text: { type: "TYPE_STRING" },
        is_set: { type: "TYPE_BOOL" },
        small: { type: "TYPE_INT32" },
        large: { type: "TYPE_INT64" },
      }),
      messageOf("Nothing", {}),
      messageOf("Repeated", { texts: { type: "TYPE_STRING", label: "LABEL_REPEATED" } }),
      messageOf("Float", { ratio: { type: "TYPE_DOUBLE" } }),
      messageOf("Inner", { inner: { type: "TYPE_MESSAGE", typeName: ".flat.Flat" } }),
      {
        ...messageOf("Optional", {
          text: { type: "TYPE_STRING", proto3Optional: true, oneofIndex: 0 },
        }),
        oneofDecl: [{ name: "_text" }],
      },
      {
        ...messageOf("Choice", { text: { type: "TYPE_STRING", oneofIndex: 0 } }),
        oneofDecl: [{ name: "choice" }],
      },
    ],
  }),
  () => undefined,
);

function messageOf(name: string, fields: Readonly<Record<string, JsonObject>>): JsonObject {
  const field = Object.entries(fields).map(([one, options], at) => ({
    name: one,
    jsonName: one.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    number: at + 1,
    label: "LABEL_OPTIONAL",
    ...options,
  }));
  return { name, field };
}

function descOf(name: string) {
  const desc = registry.getMessage(`flat.${name}`);
  if (desc === undefined) throw new Error(name);
  return desc;
}

const Flat = descOf("Flat");
const flat = (members: object): Message => Object.assign(create(Flat), members);

const forms = [true, false].flatMap((useProtoFieldName) =>
  [true, false].map((alwaysEmitImplicit) => ({ useProtoFieldName, alwaysEmitImplicit })),
);

test.each(forms)("a flat message has the library's JSON: %j", (form) => {
  const write = createFlatJson(Flat, form);
  fc.assert(
    fc.property(
      fc.record({
        someText: fc.oneof(
          fc.string({ unit: "grapheme" }),
          fc.constantFrom("", "<&>", '"\\\u2028'),
        ),
        isSet: fc.boolean(),
        small: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        large: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      }),
      (members) => {
        const message = flat(members);
        expect(write?.(message)).toBe(JSON.stringify(toJson(Flat, message, form)));
      },
    ),
  );
  expect(write?.(create(Flat))).toBe(JSON.stringify(toJson(Flat, create(Flat), form)));
});

test("an empty message is an empty object", () => {
  const desc = descOf("Nothing");
  expect(createFlatJson(desc, JSON_OPTIONS)?.(create(desc))).toBe("{}");
});

test("the text of a reply is escaped for HTML", () => {
  const text = createJsonText(escapeHtml)(Flat, flat({ someText: "</script>" }));
  expect(text).toContain('"some_text":"\\u003c/script\\u003e"');
});

test.each(["Repeated", "Float", "Inner", "Optional", "Choice"])("%s is not flat", (name) => {
  expect(createFlatJson(descOf(name), JSON_OPTIONS)).toBeUndefined();
});

test.each([StringValueSchema, Int64ValueSchema])("$typeName has its own form", (desc) => {
  expect(createFlatJson(desc, JSON_OPTIONS)).toBeUndefined();
});

describe("what the library decides", () => {
  test.each([
    ["an unpaired surrogate", { someText: "\ud800" }],
    ["a number for a text", { someText: 1 }],
    ["a text for a boolean", { isSet: "true" }],
    ["an int32 out of range", { small: 2 ** 31 }],
    ["a fraction", { small: 1.5 }],
    ["not a number", { small: Number.NaN }],
    ["an int64 out of range", { large: 2n ** 63n }],
    ["a number for an int64", { large: 2 ** 60 }],
    ["no value", { someText: undefined }],
    ["unknown fields, which may be extensions", { $unknown: [{ no: 9, wireType: 0, data: [1] }] }],
  ])("%s", (_, members) => {
    expect(createFlatJson(Flat, JSON_OPTIONS)?.(flat(members))).toBeUndefined();
  });

  test("an invalid value fails the reply with its field, without the value", () => {
    const text = createJsonText(escapeHtml);
    expect(() => text(Flat, flat({ small: 2 ** 31 }))).toThrow(
      "flat.Flat cannot be encoded: the value of small is invalid",
    );
  });
});
