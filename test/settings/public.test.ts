import { describe, expect, test } from "vitest";
import { FLAG } from "../../src/settings/item.ts";
import { temporaryPaths } from "../store/folder.ts";
import { definitions, save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();

describe("the settings readable without a token", () => {
  test("are exactly those with flag 0 or 2, sorted by key, custom ones too", async () => {
    const parts = await testParts(newPath());
    for (const flag of [0, 1, 2, 3])
      await parts.settings.save([{ key: `custom_${flag}`, value: `${flag}`, flag }], tester);
    const settings = parts.publicReads.settings(parts.publicReads.snapshot());
    const open = definitions.filter(({ flag }) => flag === FLAG.public || flag === FLAG.readonly);
    const expected = [...open.map(({ key }) => key), "custom_0", "custom_2"].sort();
    expect(Object.keys(settings)).toEqual(expected);
    expect(settings).toMatchObject({ custom_0: "0" });
  });

  test("never contain a secret", async () => {
    const { publicReads } = await testParts(newPath());
    const settings = publicReads.settings(publicReads.snapshot());
    for (const { key, secret } of definitions) if (secret) expect(settings).not.toHaveProperty(key);
  });

  test("follow every change", async () => {
    const parts = await testParts(newPath());
    const { publicReads } = parts;
    const before = publicReads.snapshot();
    await save(parts, { site_title: "Harbour" });
    expect(publicReads.settings(publicReads.snapshot())).toMatchObject({ site_title: "Harbour" });
    expect(publicReads.settings(before)).not.toMatchObject({ site_title: "Harbour" });
  });
});
