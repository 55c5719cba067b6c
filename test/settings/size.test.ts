import { writeFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { SETTINGS, type SettingLimits } from "../../src/settings/kind.ts";
import { followSettings } from "../state-file/follow.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";
import { importSettings, type Parts, restore, save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();

const limited = (limits: Partial<SettingLimits>, path = newPath()): Promise<Parts> =>
  testParts(path, { limits });

/** Bytes of the settings of an empty database. */
async function emptyTotals() {
  return (await testParts(newPath())).ledger.snapshot().totals as unknown as SettingLimits;
}

const exhausted = { code: Code.ResourceExhausted };

describe("all settings together", () => {
  test("have a maximum number of custom ones, also with several instances", async () => {
    const path = newPath();
    const [one, other] = [await limited({ custom: 2 }, path), await limited({ custom: 2 }, path)];
    await save(one, { a: "1" });
    await save(other, { b: "1" });
    const failure = await failureOf(() => save(one, { c: "1" }));
    expect(failure).toMatchObject(exhausted);
    expect(failure.message).toContain(
      "the limit of custom settings is 2, and there would be 3: delete",
    );
    await save(one, { site_title: "a known one" });
    expect(one.ledger.snapshot().totals["custom"]).toBe(2);
  });

  test("have a maximum number of bytes, in UTF-8", async () => {
    const { bytes } = await emptyTotals();
    const parts = await limited({ bytes: bytes + 11 });
    await save(parts, { k: "ü".repeat(5) });
    expect(await failureOf(() => save(parts, { k: "ü".repeat(6) }))).toMatchObject(exhausted);
    await save(parts, { k: "0123456789" });
  });

  test("have a separate bound for public ones", async () => {
    const { publicBytes } = await emptyTotals();
    const parts = await limited({ publicBytes: publicBytes + 10 });
    await save(parts, { hidden: "x".repeat(100) });
    const open = [{ key: "open", value: "x".repeat(7), flag: 0 }];
    const failure = await failureOf(() => parts.settings.save(open, tester));
    expect(failure).toMatchObject(exhausted);
    expect(failure.message).toContain("MOORING_MAX_PUBLIC_SETTINGS");
    // An existing setting may not become public either.
    const turned = [{ key: "hidden", value: "x".repeat(100), flag: 0 }];
    expect(await failureOf(() => parts.settings.save(turned, tester))).toMatchObject(exhausted);
  });

  test("are counted within one commit of several changes", async () => {
    const parts = await limited({ custom: 1 });
    const saves = await Promise.allSettled(
      ["a", "b", "c"].map((key) => save(parts, { [key]: "1" })),
    );
    expect(saves.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
  });

  test("that exceed a bound already are loaded, and can be reduced and replaced", async () => {
    const path = newPath();
    const before = await testParts(path);
    await save(before, { a: "x".repeat(500), b: "x".repeat(500) });
    const parts = await limited({ custom: 1, bytes: 100 }, path);
    expect(await failureOf(() => save(parts, { a: "x".repeat(501) }))).toMatchObject(exhausted);
    await save(parts, { a: "x".repeat(499) });
    await parts.settings.save([{ key: "a", value: "", flag: 3 }], tester);
    await parts.settings.delete("a", tester);
    expect(parts.ledger.snapshot().totals["custom"]).toBe(1);
    // Values of the program itself are never refused.
    await parts.settings.resetToken(tester);
  });

  test("are bounded for imports and rollbacks too", async () => {
    const parts = await limited({ custom: 1 });
    const value = [
      { key: "a", value: "1" },
      { key: "b", value: "1" },
    ].map((setting) => ({
      type: "string",
      options: "",
      group: 0,
      flag: 1,
      help: "",
      ...setting,
    }));
    expect(await failureOf(() => importSettings(parts, value))).toMatchObject(exhausted);
    await parts.settings.save([{ key: "a", value: "1", flag: 3 }], tester);
    await parts.settings.delete("a", tester);
    await save(parts, { b: "1" });
    expect(await failureOf(() => restore(parts, 1, ["a"]))).toMatchObject(exhausted);
  });

  test("limit what a backup may add, before any decision", async () => {
    const parts = await limited({ custom: 5 });
    const value = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ key: `k${at}`, value: "1" }));
    const most = parts.ledger.snapshot().of(SETTINGS).size + 5 + 1_000;
    const failure = await failureOf(() => importSettings(parts, value(most + 1), { dryRun: true }));
    expect(failure).toMatchObject({ code: Code.InvalidArgument });
    expect(failure.message).toContain(`${most + 1} settings; the limit is ${most}`);
    // As many as can be read, with space for few of them.
    const full = () => importSettings(parts, value(most), { dryRun: true });
    expect(await failureOf(full)).toMatchObject(exhausted);
  });

  test("are limited for the settings file too, whose change is refused as a whole", async () => {
    const { bytes } = await emptyTotals();
    const parts = await limited({ bytes: bytes + 100 });
    const path = `${newPath()}.yaml`;
    const declare = async (text: string): Promise<void> => {
      writeFileSync(path, `settings:\n  site_title: a\n  announcement: "${text}"\n`);
      onTestFinished(await followSettings(parts, path));
    };
    const before = parts.ledger.snapshot();
    await expect(declare("x".repeat(1_000))).rejects.toThrow("MOORING_MAX_SETTINGS");
    expect(parts.ledger.snapshot()).toBe(before);
    await declare("x");
    expect(parts.ledger.snapshot().get(SETTINGS, "announcement")?.value).toBe("x");
  });

  test("keep no trace of keys that are created and deleted repeatedly", async () => {
    const parts = await testParts(newPath());
    for (let round = 0; round < 4; round += 1) {
      const keys = Array.from({ length: 900 }, (_, at) => `churn_${round}_${at}`);
      await parts.settings.save(
        keys.map((key) => ({ key, value: "", flag: 3 })),
        tester,
      );
      await parts.ledger.change(tester, (draft) => {
        for (const key of keys) draft.delete(SETTINGS, key);
      });
    }
    const { size } = parts.ledger.snapshot().of(SETTINGS);
    await save(parts, { last: "1" });
    expect(parts.ledger.snapshot().of(SETTINGS).indexOf("last")).toBeLessThan(2 * size + 1_200);
    expect(parts.settings.list([]).at(-1)?.key).toBe("last");
  });
});
