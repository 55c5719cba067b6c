import { create, type DescField, type Message, ScalarType } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { misspeltMember, misspeltParameter } from "../../src/app/misspelt-parameter.ts";
import { restContract, servedServices } from "../../src/app/routes.ts";
import { createMethods, isRead } from "../../src/gateway/method.ts";
import { type Binding, createBindings } from "../../src/gateway/rest/binding.ts";
import { parseQuery } from "../../src/gateway/rest/query.ts";
import { completeReading } from "../../src/gateway/rest/tolerance.ts";
import { createTextReader } from "../../src/gateway/rest/value.ts";

const reading = completeReading({ ...restContract, unknownParameters: misspeltParameter });
const bindings = createMethods((router) => {
  for (const each of servedServices) router.service(each, {});
}).flatMap((method) => createBindings(method, undefined, reading));

interface Case {
  readonly place: string;
  readonly binding: Binding;
  readonly field: DescField;
  readonly name: string;
  readonly isWrite: boolean;
  /** The field is set from the body. */
  readonly isInBody: boolean;
}

/** Every field of every rpc under each of its names in a query. */
const cases: readonly Case[] = bindings.flatMap((binding) => {
  const { desc } = binding.method;
  const { body } = binding.request;
  return desc.input.fields.flatMap((field) =>
    [...new Set([field.name, field.jsonName])].map((name) => ({
      place: `${binding.httpMethod} ${binding.template.source} ${name}`,
      binding,
      field,
      name,
      isWrite: !isRead(desc),
      isInBody: body.kind === "message" || (body.kind === "field" && body.field === field),
    })),
  );
});

/** The request message for a query; its error otherwise. */
function filled({ binding }: Pick<Case, "binding">, query: string): Message | Error {
  const message = create(binding.method.desc.input);
  try {
    binding.request.query?.fill(message, parseQuery(query));
    return message;
  } catch (error) {
    return error as Error;
  }
}
const problem = (one: Case, query: string) => {
  const outcome = filled(one, query);
  return outcome instanceof Error ? outcome.message : "";
};
const fieldOf = (one: Case, query: string) => {
  const outcome = filled(one, query);
  return outcome instanceof Error ? outcome.message : Reflect.get(outcome, one.field.localName);
};

const isBool = ({ field }: Case) =>
  field.fieldKind === "scalar" && field.scalar === ScalarType.BOOL;
const isNumber = ({ field }: Case) =>
  field.fieldKind === "scalar" && !isBool({ field } as Case) && field.scalar !== ScalarType.STRING;
/** Reports whether a query can have the field as text: no message without a text form, no map. */
const hasText = (field: DescField) =>
  field.fieldKind !== "map" && createTextReader(field) !== undefined;
const direct = cases.filter(({ binding, isInBody, name }) => {
  return !isInBody && binding.request.query?.knows(name) === true;
});
const flags = direct.filter(isBool);
const numbers = direct.filter(isNumber);
const written = cases.filter(({ isWrite }) => isWrite);

test("the tables have the parameters of the contract", () => {
  expect(flags.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["dry_run", "mask_secrets"]),
  );
  expect(numbers.map(({ name }) => name)).toContain("page_size");
  expect(written.length).toBeGreaterThan(100);
});

describe("a parameter without a value", () => {
  test.each(flags.map((one) => [one.place, one] as const))("is true: %s", (_, one) => {
    expect(fieldOf(one, one.name)).toBe(true);
    expect(fieldOf(one, `${one.name}=false`)).toBe(false);
    for (const text of ["", "1", "yes", "True"])
      expect(problem(one, `${one.name}=${text}`)).toMatch(/expected true or false/);
  });

  test.each(direct.filter((one) => !isBool(one)).map((one) => [one.place, one] as const))(
    "is refused: %s",
    (_, one) => {
      expect(problem(one, one.name)).toMatch(/a value is missing/);
    },
  );

  test.each(numbers.filter(({ isWrite }) => isWrite).map((one) => [one.place, one] as const))(
    "is refused with an equals sign: %s",
    (_, one) => {
      expect(problem(one, `${one.name}=`)).toMatch(/expected a whole number/);
    },
  );
});

test("a read refuses near misses of mask_secrets, which would show secrets", () => {
  const masked = cases.filter(({ name, isWrite }) => name === "mask_secrets" && !isWrite);
  expect(masked.length).toBeGreaterThan(2);
  for (const one of masked.filter(({ isInBody }) => !isInBody))
    for (const wrong of ["masksecrets", "mask-secrets", "mask_secret", "MASK_SECRETS=true"])
      expect(problem(one, wrong)).toMatch(/did you mean mask_secrets\?$/);
});

describe("a call that writes refuses", () => {
  /** Names that a client may write for a field. */
  const misspelt = (name: string): readonly string[] =>
    [
      name.replaceAll("_", ""),
      name.replaceAll("_", "-"),
      name.replaceAll("_", "."),
      name.toUpperCase(),
      `${name}s`,
      name.slice(0, -1),
      name.slice(0, 2) + name.slice(3),
    ].filter((one) => one.replace(/\W|_/g, "").length >= 4);

  test.each(
    written
      .filter(({ name, field }) => name === field.name && name.length >= 6)
      .map((one) => [one.place, one] as const),
  )("near misses of %s", (_, one) => {
    const names = new Set(
      one.binding.method.desc.input.fields.flatMap((f) => [f.name, f.jsonName]),
    );
    for (const wrong of misspelt(one.name)) {
      if (names.has(wrong)) continue;
      for (const query of [wrong, `${wrong}=`, `${wrong}=1`, `${wrong}=true`])
        expect([query, problem(one, query)]).toEqual([
          query,
          expect.stringMatching(/did you mean \w+\?$|: this field (?:is|cannot)/),
        ]);
    }
  });

  test.each(
    written
      .filter(({ isInBody, field }) => isInBody && hasText(field))
      .map((one) => [one.place, one] as const),
  )("a member of the body: %s", (_, one) => {
    expect(problem(one, `${one.name}=true`)).toMatch(/is a member of the body/);
  });

  test.each(
    [...new Map(written.map((one) => [one.binding.template.source, one])).values()].map(
      (one) => [one.place, one] as const,
    ),
  )("a restriction that it does not have: %s", (_, one) => {
    const names = one.binding.method.desc.input.fields.map(({ name }) => name);
    for (const restriction of ["dry_run", "expected_revision"])
      if (!names.includes(restriction))
        expect(problem(one, restriction)).toMatch(/has no |did you mean/);
  });
});

test("parameters that mean no field are ignored by every call, and other near misses by reads", () => {
  for (const one of cases) {
    const own = ["_", "t", "ts", "timestamp", "cache_buster", "utm_source", "0.123"];
    for (const name of own)
      expect([one.place, name, problem(one, `${name}=1`)]).toEqual([one.place, name, ""]);
    if (!one.isWrite && !one.isInBody && one.field.name !== "mask_secrets")
      expect([one.place, problem(one, `${one.name}zz=1`)]).toEqual([one.place, ""]);
  }
});

describe("a member of a JSON body that is close to a restriction", () => {
  const requests = servedServices.flatMap(({ methods }) => methods).map(({ input }) => input);
  const restricted = requests.flatMap((message) =>
    message.fields
      .map(({ name }) => name)
      .filter((name) =>
        ["dry_run", "expected_etag", "expected_revision", "mask_secrets"].includes(name),
      )
      .map((name) => [`${message.typeName}.${name}`, message, name] as const),
  );

  test.each(restricted)("is refused: %s", (_, message, name) => {
    const [first = "", second = ""] = name.split("_");
    const misspelt = [
      `${first}-${second}`,
      `${first}${second}s`,
      `${name.slice(0, -1)}m`,
      `x${name}`,
    ];
    for (const wrong of misspelt)
      expect([wrong, misspeltMember({ name: wrong, message })]).toEqual([
        wrong,
        `no such member; did you mean ${name}?`,
      ]);
  });

  test("is the only one that is refused", () => {
    for (const message of requests)
      for (const name of ["index", "PreDefault", "id", "status", "modified", "driver", "_"])
        expect(misspeltMember({ name, message })).toBeUndefined();
  });
});
