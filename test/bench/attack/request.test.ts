import { type DescMessage, type DescMethod, ScalarType, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { attacks } from "../../../bench/attack/attacks.ts";
import { type Form, formsOf, wholeSize } from "../../../bench/attack/request/form.ts";
import { nameOf } from "../../../bench/attack/request/send.ts";
import { createMessageLimits } from "../../../src/app/request-limits.ts";
import { servedServices } from "../../../src/app/routes.ts";
import { decodeBinary } from "../../../src/transport/decode.ts";

const methods = servedServices.flatMap((service): DescMethod[] => service.methods);

/** Paths of all fields of a request, with the kinds of forms that each field needs. */
function needed(desc: DescMessage, prefix = ""): [path: string, kinds: readonly string[]][] {
  return desc.fields.flatMap((field): [string, readonly string[]][] => {
    const path = `${prefix}${field.name}`;
    const isText =
      field.fieldKind === "scalar" &&
      (field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES);
    const isStruct =
      field.fieldKind === "message" && field.message.typeName === "google.protobuf.Struct";
    if (["dry_run", "connect_downloaders"].includes(field.name)) return [];
    if (field.fieldKind === "list" || field.fieldKind === "map" || isText || isStruct)
      return [[path, ["largest", "repetitive"]]];
    if (field.fieldKind === "message") return needed(field.message, `${path}.`);
    return [[path, ["extreme"]]];
  });
}

describe("costly requests", () => {
  test("exist for every service", () => {
    const names = attacks.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(servedServices.map(({ name }) => `requests-${name}`)),
    );
  });

  test.each(methods.map((method) => [nameOf(method), method] as const))(
    "have forms for every field of %s",
    (_name, method) => {
      const forms = formsOf(method);
      expect(forms.length).toBeGreaterThan(0);
      for (const [path, kinds] of needed(method.input))
        expect(
          forms.filter((form) => form.path === path).map(({ kind }) => kind),
          path,
        ).toEqual(kinds);
    },
  );

  test.each([
    ["ValidateDriverConfig", "text_values"],
    ["ValidateDriverConfig", "values"],
    ["UpdateSite", "site.overrides.values"],
  ])("of %s have as many entries in %s as are decoded", async (name, path) => {
    const method = methods.find((each) => each.name === name);
    const form = formsOf(method as DescMethod).find((each) => each.path === path);
    const { input } = method as DescMethod;
    const limits = createMessageLimits({ maxValue: 2 ** 20 })(method as DescMethod);
    const whole = wholeSize(method as DescMethod);
    const decode = async (factor: number) => {
      const size = { entries: whole.entries * factor, members: whole.members * factor };
      return decodeBinary(
        input,
        toBinary(input, (form as Form).build({ ...whole, ...size })),
        limits,
      );
    };
    await expect(decode(1)).resolves.toBeDefined();
    await expect(decode(1.5)).rejects.toThrow(`more than ${limits.values} values`);
  });
});
