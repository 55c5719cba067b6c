import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { checkName, createPrincipalService } from "../../src/access/principal.ts";
import { callerOf, openedAccess, refusalOf, START } from "./opened.ts";

const page = (pageToken = "", pageSize = 0) => ({ pageSize, pageToken });

test.each([
  ["a", true],
  ["0", true],
  ["a.b_c-d", true],
  ["a".repeat(64), true],
  ["a".repeat(65), false],
  ["", false],
  [".a", false],
  ["A", false],
  ["a/b", false],
  ["a\n", false],
])("the name %j is valid: %s", async (name, isValid) => {
  if (isValid) return checkName(name);
  const refused = (async () => checkName(name))();
  expect(await refusalOf(refused)).toMatchObject({
    code: Code.InvalidArgument,
    id: "PRINCIPAL_NAME_INVALID",
  });
});

test.each(["root", "admin", "cli", "mooring", "system"])("the name %s is invalid", async (name) => {
  const refused = (async () => checkName(name))();
  expect((await refusalOf(refused)).id).toBe("PRINCIPAL_NAME_RESERVED");
});

test("at most 100,000 principals are kept", async () => {
  const service = createPrincipalService({
    registry: { principals: () => Array.from({ length: 100_000 }), now: () => START } as never,
    change: () => Promise.reject(new Error("the database must not be called")),
    randomBytes: Buffer.alloc,
  });
  const made = service.createPrincipal("one-more", "program", callerOf());
  await expect(made).rejects.toMatchObject({ code: Code.ResourceExhausted });
});

describe("principals", () => {
  test("are created once, with an audit row", async () => {
    const { access, registry, audited, changed } = await openedAccess();
    const caller = callerOf(undefined, "ann");
    const made = await access.createPrincipal("bot", "person", caller);
    expect(made).toMatchObject({
      name: "bot",
      kind: "person",
      createdAt: START,
      createdBy: "ann",
      disabledAt: null,
    });
    expect(registry.principals()).toEqual([made]);
    expect(await audited()).toEqual([[["bot"], { kind: "person" }]]);
    const again = access.createPrincipal("bot", "program", caller);
    await expect(again).rejects.toMatchObject({ code: Code.AlreadyExists });
    const wrong = access.createPrincipal("root", "program", caller);
    await expect(wrong).rejects.toMatchObject({ code: Code.InvalidArgument });
    expect(changed).toHaveBeenCalledOnce();
  });

  test("are listed by name, in pages", async () => {
    const { access } = await openedAccess();
    for (const name of ["b", "c", "a"]) await access.createPrincipal(name, "person", callerOf());
    const names = (...at: Parameters<typeof page>) => {
      const { items, next } = access.principals(page(...at));
      return [items.map(({ name }) => name).join(""), next];
    };
    expect(names()).toEqual(["abc", ""]);
    expect(names("", 2)).toEqual(["ab", "b"]);
    expect(names("b")).toEqual(["c", ""]);
    expect(() => names("B")).toThrow("invalid page_token");
  });

  test("are disabled once, and must exist", async () => {
    const { access, registry, clock, audited } = await openedAccess();
    await access.createPrincipal("bot", "person", callerOf());
    clock.now += 5;
    const disabled = await access.disablePrincipal("bot", callerOf());
    expect(disabled.disabledAt).toBe(START + 5);
    expect(registry.principals()).toEqual([disabled]);
    expect((await audited()).at(-1)).toEqual([["bot"], {}]);
    clock.now += 5;
    expect(await access.disablePrincipal("bot", callerOf())).toEqual(disabled);
    expect(await audited()).toHaveLength(2);
    await expect(access.disablePrincipal("none", callerOf())).rejects.toMatchObject({
      code: Code.NotFound,
      message: expect.sentence('"none"'),
    });
  });
});
