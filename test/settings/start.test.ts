import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SETTINGS } from "../../src/settings/kind.ts";
import { startSettings } from "../../src/settings/start.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";
import { type Parts, testParts } from "./parts.ts";

const newPath = temporaryPaths();
const own = "own-token-".repeat(4);

const start = ({ ledger }: Parts, adminToken?: string, version = "v1.0.0") =>
  startSettings(ledger, { version, adminToken, randomBytes });

describe("the first start", () => {
  test("creates a token, stores it with the version, and returns it for display", async () => {
    const parts = await testParts(newPath());
    const token = await start(parts);
    expect(token).toMatch(/^mooring-/);
    expect(parts.settings.get("token")).toMatchObject({ value: token, revision: 1 });
    expect(parts.settings.get("version")).toMatchObject({ value: "v1.0.0", revision: 1 });
    expect(await parts.history.get(1)).toMatchObject({ actor: "mooring", transport: "start" });
  });

  test("stores the configured token and returns none", async () => {
    const parts = await testParts(newPath());
    expect(await start(parts, own)).toBeUndefined();
    expect(parts.settings.get("token").value).toBe(own);
  });

  test("refuses a configured token that is too short, without quoting it", async () => {
    const parts = await testParts(newPath());
    const { message } = await failureOf(() => start(parts, "hunter2"));
    expect(message).toMatch(/at least 32 characters/);
    expect(message).not.toContain("hunter2");
    expect(parts.ledger.snapshot().revision).toBe(0);
  });

  test("of several processes at once has one token, which one of them returns", async () => {
    const path = newPath();
    const all = await Promise.all([1, 2, 3].map(() => testParts(path)));
    const shown = (await Promise.all(all.map((parts) => start(parts)))).filter(Boolean);
    expect(shown).toHaveLength(1);
    for (const { ledger } of all)
      expect((await ledger.fresh()).get(SETTINGS, "token")?.value).toBe(shown[0]);
  });
});

describe("a later start", () => {
  test("changes nothing, for any configuration", async () => {
    const path = newPath();
    const token = await start(await testParts(path));
    const parts = await testParts(path);
    expect(await start(parts, own)).toBeUndefined();
    expect(parts.settings.get("token").value).toBe(token);
    expect(parts.ledger.snapshot().revision).toBe(1);
  });

  test("of another version stores that version", async () => {
    const path = newPath();
    await start(await testParts(path));
    const parts = await testParts(path);
    await start(parts, undefined, "v2.0.0");
    expect(parts.settings.get("version")).toMatchObject({ value: "v2.0.0", revision: 2 });
    expect((await parts.history.get(2)).changes.map(({ key }) => key)).toEqual(["version"]);
  });
});
