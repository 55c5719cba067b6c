import { create, type DescMethod, type MessageInitShape, setExtension } from "@bufbuild/protobuf";
import { MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { Health } from "../../gen/health/v1/health_pb.js";
import { AccessSchema, access } from "../../gen/mooring/access/v1/access_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { createGrant, ROOT } from "../../src/access/grant.ts";
import { checkRequirement, requirementOf } from "../../src/access/requirement.ts";
import { failureOf } from "../thrown.ts";

/** A method with this option. */
function methodWith(option?: MessageInitShape<typeof AccessSchema>): DescMethod {
  const method = SettingService.method.listSettings;
  const options = create(MethodOptionsSchema);
  if (option !== undefined) setExtension(options, access, create(AccessSchema, option));
  return Object.create(method, { proto: { value: { ...method.proto, options } } });
}

describe("the requirement of a method", () => {
  test("is the value of its option", () => {
    expect(requirementOf(methodWith({ public: true }))).toEqual({
      isPublic: true,
      scopes: [],
      limited: false,
    });
    expect(requirementOf(methodWith({ anyToken: true }))).toEqual({
      isPublic: false,
      scopes: [],
      limited: true,
    });
    const scopes = ["settings:read", "root"];
    expect(requirementOf(methodWith({ scopes }))).toMatchObject({ scopes, limited: false });
    expect(requirementOf(methodWith({ scopes, limited: true }))).toMatchObject({ limited: true });
  });

  test("of the health service is empty", () => {
    // A copy: the requirement of the method itself is kept since the start.
    expect(requirementOf({ ...Health.method.check })).toEqual({
      isPublic: true,
      scopes: [],
      limited: true,
    });
  });

  test.each<[string, MessageInitShape<typeof AccessSchema> | undefined]>([
    ["has no access option: add (mooring.access.v1.access)", undefined],
    ["requires the unknown scope settings:paint", { scopes: ["settings:read", "settings:paint"] }],
    ["must have exactly one of public, any_token and scopes", {}],
    ["must have exactly one of public, any_token and scopes", { public: true, anyToken: true }],
    ["must have exactly one of public, any_token and scopes", { public: true, scopes: ["root"] }],
    ["must have exactly one of public, any_token and scopes", { anyToken: true, scopes: ["root"] }],
  ])("is refused: %s", (reason, option) => {
    expect(() => requirementOf(methodWith(option))).toThrow(reason);
  });
});

describe("a grant of a caller", () => {
  const check = (
    option: MessageInitShape<typeof AccessSchema>,
    scopes: string[],
    limits: string[] = [],
  ) => checkRequirement(methodWith(option), createGrant(scopes, limits));
  const refusal = (...parameters: Parameters<typeof check>) =>
    failureOf(() => check(...parameters));

  test("must have every scope of the method; the error names the missing one", async () => {
    const scopes = ["settings:read", "history:read"];
    expect(() => check({ scopes }, scopes)).not.toThrow();
    const failure = await refusal({ scopes }, ["settings:read"]);
    expect(failure).toMatchObject({
      code: Code.PermissionDenied,
      message: "this token does not have the scope history:read",
    });
    const root = await refusal({ scopes: ["root"] }, ["settings:write"]);
    expect(root.code).toBe(Code.PermissionDenied);
    expect(root.message).toMatch(/permanent admin token/);
  });

  test("with limits is accepted only by methods that apply limits", async () => {
    const scopes = ["settings:read"];
    const limits = ["key:a"];
    expect(() => check({ scopes, limited: true }, scopes, limits)).not.toThrow();
    expect(() => check({ anyToken: true }, scopes, limits)).not.toThrow();
    expect(() => check({ scopes }, scopes)).not.toThrow();
    const failure = await refusal({ scopes }, scopes, limits);
    expect(failure.code).toBe(Code.PermissionDenied);
    expect(failure.message).not.toMatch(/scope/);
  });

  test("of root is accepted by every method", () => {
    expect(() => checkRequirement(methodWith({ scopes: ["root"] }), ROOT)).not.toThrow();
  });
});
