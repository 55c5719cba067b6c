import { expect, test } from "vitest";
import { FLAG } from "../../../src/settings/item.ts";
import { SETTINGS } from "../../../src/settings/kind.ts";
import { adopt } from "../../../src/sites/settings/adopt.ts";
import type { SiteRow } from "../../../src/sites/settings/client.ts";
import type { Comparison } from "../../../src/sites/settings/compare.ts";
import { type Parts, save, tester, testParts } from "../../settings/parts.ts";
import { temporaryPaths } from "../../store/folder.ts";

const newPath = temporaryPaths();

const row = (key: string, value: string, more: Partial<SiteRow> = {}): SiteRow => ({
  key,
  value,
  type: "string",
  options: "",
  help: "h",
  group: 3,
  flag: FLAG.public,
  ...more,
});

/** Adopts one row of a site. */
async function adopted(
  parts: Parts,
  there: SiteRow | undefined,
  {
    key = there?.key ?? "",
    overridden = false,
    dryRun = false,
    managedBy = (_key: string): string | undefined => undefined,
    meanwhile = async (): Promise<unknown> => undefined,
  } = {},
) {
  const { ledger } = parts;
  const base = ledger.snapshot();
  const comparison: Comparison = {
    key,
    sync: "differs",
    wanted: undefined,
    row: there,
    item: base.get(SETTINGS, key),
    secret: false,
    overridden,
    drifted: false,
    note: "",
  };
  await meanwhile();
  const deps = { ledger, base, managedBy, maxValueBytes: 20, origin: tester, dryRun };
  const { result, commit } = await adopt([comparison], deps);
  const [found] = result;
  const reason = String(found?.reason ?? "");
  return { outcome: found?.outcome, reason, isSaved: commit !== undefined && !dryRun };
}

test.each<[string, SiteRow, Parameters<typeof adopted>[2], string, RegExp]>([
  ["a setting with a definition", row("site_title", "Harbour"), {}, "changed", /^$/],
  ["a value in another server's notation", row("allow_indexed", "1"), {}, "changed", /^$/],
  ["a setting that only the site has", row("mine", "1"), {}, "added", /^$/],
  ["a private one with a plain name", row("mine", "1", { flag: 1 }), {}, "added", /^$/],
  ["a public one named like a secret", row("my_token", "1"), {}, "added", /^$/],
  ["a private one named like a secret", row("my_token", "1", { flag: 1 }), {}, "refused", /./],
  ["a private one named like a secret", row("default_page_size", "many"), {}, "refused", /number/],
  ["a value that is too long", row("mine", "x".repeat(21)), {}, "refused", /20 bytes/],
  ["a read-only setting", row("version", "v9"), {}, "refused", /./],
  [
    "a managed setting",
    row("logo", "x"),
    { managedBy: () => "site.yaml" },
    "refused",
    /site\.yaml/,
  ],
])("the adoption of %s", async (_, there, options, outcome, reason) => {
  const parts = await testParts(newPath());
  const found = await adopted(parts, there, options);
  expect(found).toEqual({
    outcome,
    reason: expect.stringMatching(reason),
    isSaved: outcome === "changed" || outcome === "added",
  });
  expect(parts.ledger.snapshot().get(SETTINGS, there.key)?.value === there.value).toBe(
    found.isSaved && there.key !== "allow_indexed",
  );
});

test("a new setting has the site's description, and its value is normalized", async () => {
  const parts = await testParts(newPath());
  await adopted(parts, row("mine", "1", { index: 7 }));
  const { type, help, group, flag } = row("mine", "1");
  expect(parts.settings.get("mine")).toMatchObject({ value: "1", type, help, group, flag });
  await adopted(parts, row("allow_indexed", "1"));
  expect(parts.settings.get("allow_indexed").value).toBe("true");
});

test("nothing is adopted without a row, of an override, or in a dry run", async () => {
  const parts = await testParts(newPath());
  const nothing = { outcome: undefined, reason: "", isSaved: false };
  expect(await adopted(parts, undefined, { key: "site_title" })).toEqual(nothing);
  const there = row("site_title", "Harbour");
  expect(await adopted(parts, there, { overridden: true })).toEqual(nothing);
  expect(await adopted(parts, there, { dryRun: true })).toMatchObject({ outcome: "changed" });
  expect(parts.ledger.snapshot().revision).toBe(0);
});

test("a setting that was saved in between is skipped", async () => {
  const parts = await testParts(newPath());
  const meanwhile = () => save(parts, { site_title: "Mine" });
  expect(await adopted(parts, row("site_title", "Harbour"), { meanwhile })).toMatchObject({
    outcome: "skipped",
    isSaved: false,
  });
  expect(parts.settings.get("site_title").value).toBe("Mine");
});
