import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createGrant, type Grant, ROOT } from "../../src/access/grant.ts";
import { denied } from "../../src/messages/error.ts";
import { message } from "../../src/messages/message.ts";
import { MOUNTS } from "../../src/mounts/kind.ts";
import type { SettingItem } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { type Rights, rightsOf } from "../../src/settings/rights.ts";
import { TOKEN_KEY } from "../../src/settings/token.ts";
import { customItem, sampleMount, snapshotOf } from "./staged.ts";

const GROUP = 9;

const item = (key: string, group: number, secret = false) => customItem(key, "", { group, secret });

/** Attributes of a setting in the history. */
function definition(group: number): string {
  return JSON.stringify({ type: "string", options: "", help: "", group, flag: 1 });
}

const stored = [item("boat", GROUP), item("crane", 1), item(TOKEN_KEY, GROUP, true)];
/** Rights of a grant on the stored settings. */
const rights = (grant: Grant): Rights => {
  const snapshot = snapshotOf(1, stored);
  return rightsOf(grant, () => snapshot);
};
const byScopes = (...scopes: readonly string[]): Rights => rights(createGrant(scopes, []));
const byLimits = (...limits: readonly string[]): Rights =>
  rights(createGrant(["settings:write"], limits));

const limitedTo = (limits: string) => ({
  code: Code.PermissionDenied,
  message: `this token is limited to ${limits}: nothing was read or changed`,
});
/** The error of a call; undefined: it succeeds. */
const failure = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};

/** Creates a check of the replacement of a setting. */
const requireWriteWith =
  ({ requireWrite }: Rights) =>
  (before: SettingItem | undefined, after: SettingItem | undefined): void =>
    requireWrite({ kind: SETTINGS, key: (before ?? after)?.key ?? "", before, after });

describe("requireWrite", () => {
  const inside = item("boat", GROUP);
  const outside = item("boat", 1);
  const named = item("key", 1);

  test.each<[string, SettingItem | undefined, SettingItem | undefined, boolean]>([
    ["changes within the group", inside, inside, true],
    ["deletes of the group", inside, undefined, true],
    ["a change out of the group", inside, outside, false],
    ["a change into the group", outside, inside, false],
    ["a delete outside", outside, undefined, false],
    ["a change outside", outside, outside, false],
    ["a new setting, for any group", undefined, inside, false],
    ["a new setting whose name is allowed", undefined, named, true],
    ["nothing at all", undefined, undefined, true],
  ])("with limits: %s", (_, before, after, allowed) => {
    const requireWrite = requireWriteWith(byLimits(`group:${GROUP}`, "key:key"));
    const expected = limitedTo(`group:${GROUP}, key:key`);
    const failed = failure(() => requireWrite(before, after));
    if (allowed) expect(failed).toBe(undefined);
    else expect(failed).toMatchObject(expected);
  });

  test("without limits every setting may be written, the permanent token by root only", () => {
    const requireWrite = requireWriteWith(byScopes("settings:write"));
    requireWrite(undefined, inside);
    requireWrite(outside, inside);
    requireWrite(outside, undefined);
    const token = item(TOKEN_KEY, GROUP, true);
    const refused = {
      code: Code.PermissionDenied,
      message: "only the permanent admin token can change the permanent admin token",
    };
    expect(failure(() => requireWrite(token, token))).toMatchObject(refused);
    expect(failure(() => requireWrite(token, undefined))).toMatchObject(refused);
    expect(failure(() => requireWrite(undefined, token))).toMatchObject(refused);
    requireWriteWith(rights(ROOT))(token, token);
    requireWriteWith(rights(ROOT))(undefined, token);
  });
});

describe("reads", () => {
  test("of settings depend on the current group, and on the key alone for a missing setting", () => {
    const limited = byLimits(`group:${GROUP}`, "key:gone");
    expect(["boat", "crane", "gone", "other"].map(limited.canRead)).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(stored.map(limited.canReadItem)).toEqual([true, false, true]);
    limited.require(["boat", "gone"]);
    const expected = limitedTo(`group:${GROUP}, key:gone`);
    expect(failure(() => limited.require(["boat", "crane"]))).toMatchObject(expected);
    expect(failure(limited.refuse)).toMatchObject(expected);
  });

  test("without limits cover all settings, and only rights with limits are limited", () => {
    const free = byScopes("settings:read");
    expect(["boat", "crane", "gone"].map(free.canRead)).toEqual([true, true, true]);
    free.require(["boat", "crane", "gone"]);
    expect([free.isLimited, byLimits("key:a").isLimited]).toEqual([false, true]);
  });

  test("without limits read no group", () => {
    const free = rightsOf(createGrant(["settings:read"], []), () => {
      throw new Error("the group was read");
    });
    expect(free.canRead("boat")).toBe(true);
  });

  test("have the same key of limits when they cover the same settings", () => {
    expect(byLimits("key:a", "key:b").limitsKey).toBe("key:a\nkey:b");
    expect(byScopes("settings:read").limitsKey).toBe(rights(ROOT).limitsKey);
    expect(byLimits("key:a").limitsKey).not.toBe(byLimits("key:b").limitsKey);
  });

  test("list at most five limits in a refusal", () => {
    const limits = ["a", "b", "c", "d", "e", "f"].map((name) => `key:${name}`);
    const named = "key:a, key:b, key:c, key:d, key:e";
    expect(failure(byLimits(...limits).refuse)).toMatchObject(limitedTo(`${named}, …`));
    expect(failure(byLimits(...limits.slice(0, 5)).refuse)).toMatchObject(limitedTo(named));
  });

  test.each<[string | null, string | null, boolean]>([
    [null, null, true],
    [definition(GROUP), definition(GROUP), true],
    [definition(GROUP), null, true],
    [null, definition(GROUP), true],
    [definition(1), definition(GROUP), false],
    [definition(GROUP), definition(1), false],
    [null, definition(1), false],
  ])(
    "of a change in the history depend on its groups before and after: %s, %s",
    (before, after, canRead) => {
      const change = {
        kind: SETTINGS.name,
        key: "boat",
        oldAttributes: before,
        newAttributes: after,
      };
      expect(byLimits(`group:${GROUP}`).canReadChange(change)).toBe(canRead);
      expect(byScopes("history:read").canReadChange(change)).toBe(true);
    },
  );

  test("of a change without groups depend on the current group of the setting", () => {
    const change = { kind: SETTINGS.name, key: "crane", oldAttributes: null, newAttributes: null };
    expect(byLimits(`group:${GROUP}`).canReadChange(change)).toBe(false);
  });
});

describe("secret values", () => {
  test.each<[string, Grant, readonly boolean[]]>([
    ["a reader", createGrant(["settings:read"], []), [false, true, true]],
    ["a token that may reveal", createGrant(["settings:reveal"], []), [false, false, true]],
    ["root", ROOT, [false, false, false]],
  ])("are masked for %s: a plain setting, a secret, the permanent token", (_, grant, masked) => {
    const items = [item("boat", 1), item("key", 1, true), item(TOKEN_KEY, 1, true)];
    expect(items.map(rights(grant).isMasked)).toEqual(masked);
  });
});

describe("mounts", () => {
  const paths = (...all: readonly string[]) => JSON.stringify({ paths: all });
  const reader = (limits: readonly string[], scopes = ["mounts:read"]): Rights => {
    const snapshot = snapshotOf(1, stored, [sampleMount("m", { path: "/a/b" })]);
    return rightsOf(createGrant(scopes, limits), () => snapshot);
  };
  const change = (before: string | null, after: string | null) => ({
    kind: MOUNTS.name,
    key: "m",
    oldAttributes: before,
    newAttributes: after,
  });

  test("in the history can be read when all their paths are within the limits", () => {
    const inside = reader(["mount:/a*"]).canReadChange;
    expect(inside(change(null, paths("/a")))).toBe(true);
    expect(inside(change(paths("/a/b"), paths("/a/c")))).toBe(true);
    expect(inside(change(paths("/a/b"), paths("/b")))).toBe(false);
    expect(inside(change(paths("/b"), paths("/a/b")))).toBe(false);
    expect(inside(change(paths("/b"), null))).toBe(false);
    expect(reader([]).canReadChange(change(null, null))).toBe(true);
    expect(reader([], ["history:read"]).canReadChange(change(null, paths("/a")))).toBe(false);
  });
});

test("a change of a setting that is secret before or after it is masked", () => {
  const masked = byScopes("history:read").isMaskedChange;
  const of = (before: string | null, after: string | null) =>
    masked({
      key: "k",
      oldHashes: before === null ? null : { value: before },
      newHashes: after === null ? null : { value: after },
    });
  expect([of(null, null), of("1", null), of(null, "1"), of("1", "2")]).toEqual([
    false,
    true,
    true,
    true,
  ]);
});

test("a scope that a token has is accepted, and a refusal names the missing one", () => {
  byScopes("settings:read").requireScope("settings:read");
  rights(ROOT).requireScope("tokens:manage");
  expect(failure(() => byScopes("settings:read").requireScope("settings:write"))).toMatchObject({
    code: Code.PermissionDenied,
    message: "this token does not have the scope settings:write",
  });
});

test("a refusal of a caller who is not an admin is PERMISSION_DENIED", () => {
  expect(denied(message("NOT_ADMIN"))).toMatchObject({
    code: Code.PermissionDenied,
    message: "You are not an admin",
  });
});
