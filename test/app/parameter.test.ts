import { create, type DescField, type Message, ScalarType } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { MountInputSchema } from "../../gen/mooring/v1/mount_pb.js";
import { SettingInputSchema } from "../../gen/mooring/v1/setting_pb.js";
import { createMemberRule, misspeltParameter } from "../../src/app/misspelt-parameter.ts";
import { restContract, servedServices } from "../../src/app/routes.ts";
import { createMethods, isRead } from "../../src/gateway/method.ts";
import { type Binding, createBindings } from "../../src/gateway/rest/binding.ts";
import { parseQuery } from "../../src/gateway/rest/query.ts";
import { completeReading } from "../../src/gateway/rest/reading.ts";
import { bodyMessage } from "../../src/gateway/rest/request.ts";
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

describe("a call refuses", () => {
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
    cases
      .filter(({ isWrite, isInBody }) => isWrite || !isInBody)
      .filter(({ name, field }) => name === field.name && name.length >= 6)
      .map((one) => [one.place, one] as const),
  )("near misses of %s", (_, one) => {
    const names = new Set(
      one.binding.method.desc.input.fields.flatMap((f) => [f.name, f.jsonName]),
    );
    for (const wrong of misspelt(one.name)) {
      if (names.has(wrong) || one.binding.request.query?.knows(wrong) === true) continue;
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
    for (const restriction of ["dry_run", "expected_etag"])
      if (!names.includes(restriction))
        expect(problem(one, restriction)).toMatch(/has no |did you mean/);
  });
});

/** Every parameter of a call that reads no body by its rule, and may have one. */
const bodiless = direct.filter(({ binding: { httpMethod, request } }) => {
  return request.body.kind === "none" && !["GET", "HEAD"].includes(httpMethod);
});

test("the table has the calls whose parameters are in the query", () => {
  const paths = new Set(bodiless.map(({ binding }) => binding.template.source));
  expect(paths).toContain("/api/admin/webhook/test");
  expect(paths).toContain("/api/admin/webhook/resend");
  expect(paths.size).toBeGreaterThanOrEqual(8);
});

test.each(bodiless.map((one) => [one.place, one] as const))(
  "a body has the same parameters as the query: %s",
  async (_, one) => {
    const text = isBool(one) ? "true" : "7";
    const ofQuery = filled(one, `${one.name}=${text}`);
    const body = Buffer.from(JSON.stringify({ [one.name]: text }));
    const { request } = one.binding;
    const rules = { reading } as Parameters<typeof bodyMessage>[3];
    expect(await bodyMessage(request, body, () => null, rules)).toEqual(ofQuery);
  },
);

test("parameters that mean no field are ignored by every call", () => {
  for (const one of cases) {
    const own = ["_", "t", "ts", "timestamp", "cache_buster", "utm_source", "0.123"];
    for (const name of own)
      expect([one.place, name, problem(one, `${name}=1`)]).toEqual([one.place, name, ""]);
  }
});

describe("a member of a JSON body", () => {
  const memberProblem = createMemberRule(servedServices);
  const methods = servedServices.flatMap((service) => service.methods);
  const inputs = methods.map((method) => [method.input.typeName, method] as const);

  test.each(inputs)("that is misspelt is refused: %s", (_, { input: message }) => {
    const names = message.fields.map(({ name }) => name).filter((name) => name.length >= 6);
    for (const name of names)
      for (const wrong of [name.replaceAll("_", "-"), `${name}s`, name.slice(0, -1), `x${name}`]) {
        if (message.fields.some((field) => [field.name, field.jsonName].includes(wrong))) continue;
        expect([wrong, memberProblem({ name: wrong, message })]).toEqual([
          wrong,
          expect.stringMatching(/^no such member; did you mean \w+\?$/),
        ]);
      }
  });

  test.each(inputs)("of no field is refused by a call that writes: %s", (_, method) => {
    const found = memberProblem({ name: "zzz_zzz", message: method.input });
    expect(found).toBe(isRead(method) ? undefined : "no such member");
  });

  const returned = methods.flatMap(({ input }) =>
    input.fields.flatMap(({ message }) => {
      const output = message?.typeName.endsWith("Input") ? message.typeName.slice(0, -5) : "";
      const [found] = methods
        .flatMap((method) => method.output.fields)
        .filter((field) => field.message?.typeName === output);
      return message === undefined || found?.message === undefined
        ? []
        : [[message.typeName, message, found.message] as const];
    }),
  );

  test.each(returned)("that a read returns is taken: %s", (_, message, { fields }) => {
    expect(fields.length).toBeGreaterThan(5);
    for (const name of [...fields.map((field) => field.name), ...fields.map((f) => f.jsonName)])
      if (!message.fields.some((field) => [field.name, field.jsonName].includes(name)))
        expect([name, memberProblem({ name, message })]).toEqual([name, undefined]);
  });

  test("beside its place is refused with the place", () => {
    expect(memberProblem({ name: "order", message: MountInputSchema })).toMatch(
      /items of the driver belong to config, and others such as order to members/,
    );
  });

  test("of legacy clients is taken", () => {
    const item = ["key", "value", "help", "type", "options", "group", "flag", "index"];
    for (const name of item.filter((one) => !SettingInputSchema.fields.some((f) => f.name === one)))
      expect([name, memberProblem({ name, message: SettingInputSchema })]).toEqual([
        name,
        undefined,
      ]);
  });
});
