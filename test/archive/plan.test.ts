import { describe, expect, test } from "vitest";
import { type CurrentSetting, planImport } from "../../src/archive/plan.ts";
import type { BackupSetting } from "../../src/archive/setting.ts";
import { setting } from "./setting.ts";

const token = "t".repeat(109);

/** A setting that exists already. */
function current(members: Partial<CurrentSetting> = {}): CurrentSetting {
  const { key: _, ...rest } = setting({ key: "" });
  return { ...rest, secret: false, definition: {}, ...members };
}

const stored: Record<string, CurrentSetting> = {
  site_title: current({ value: "Harbour", group: 1, help: "ours" }),
  readonly_one: current({ value: "r", flag: 2 }),
  token: current({ value: "o".repeat(51), flag: 1, secret: true }),
  aria2_secret: current({ value: "s", flag: 1, secret: true }),
  my_own: current({ value: "1", definition: undefined }),
  out_of_use: current({ value: "1", flag: 3, definition: undefined }),
};

const plan = (settings: readonly BackupSetting[], more: object = {}) =>
  planImport(
    { source: "mooring", settings, skipped: [] },
    {
      current: (key) => stored[key],
      normalize: ({ value }) => value.trim(),
      check: ({ value }) => (value === "bad" ? "must not be bad" : undefined),
      ...more,
    },
  );
const outcomeOf = async (item: BackupSetting, more: object = {}) =>
  (await plan([item], more)).entries[0];
const changesOf = async (...items: readonly BackupSetting[]) => (await plan(items)).changes;

describe("an import", () => {
  test.each([
    [setting({ key: "site_title", value: "Harbour" }), "unchanged", ""],
    [setting({ key: "site_title", value: " Harbour\n" }), "unchanged", ""],
    [setting({ key: "site_title", value: "Other" }), "changed", ""],
    [setting({ key: "site_title", value: "bad" }), "invalid", "must not be bad"],
    [setting({ key: "new_one", value: "x" }), "added", ""],
    [setting({ key: "my_own", value: "1" }), "unchanged", ""],
    [setting({ key: "my_own", value: "1", help: "new help" }), "changed", ""],
    [setting({ key: "readonly_one", value: "other" }), "skipped", "is read-only"],
    [setting({ key: "readonly_one", value: "r" }), "unchanged", ""],
    [
      setting({ key: "version", value: "v9" }),
      "skipped",
      expect.sentence(/^belongs to the server/),
    ],
    [setting({ key: "index_progress" }), "skipped", expect.sentence(/^belongs to the server/)],
    [setting({ key: "token", value: token }), "changed", ""],
    [
      setting({ key: "token", value: "short" }),
      "skipped",
      expect.sentence(/^is left unchanged.* 32/),
    ],
    [setting({ key: "token", value: "" }), "skipped", expect.sentence(/^is left unchanged/)],
    [setting({ key: "aria2_secret", value: "********" }), "skipped", expect.sentence(/mask/)],
  ])("of %j is planned as %s", async (item, outcome, reason) => {
    expect(await outcomeOf(item)).toEqual({ key: item.key, outcome, reason });
  });

  test("sets only the value of a setting with a definition", async () => {
    const item = setting({ key: "aria2_secret", value: "new", flag: 0, help: "theirs", group: 9 });
    expect(await changesOf(item)).toEqual([
      setting({ key: "aria2_secret", value: "new", flag: 1 }),
    ]);
  });

  test("keeps an unknown setting as the backup describes it, also a deprecated one", async () => {
    const item = setting({ key: "old_thing", value: "gone", flag: 3, group: 1, type: "" });
    expect(await changesOf(item)).toEqual([{ ...item, type: "string" }]);
  });

  test("leaves a deprecated setting deprecated", async () => {
    const item = setting({ key: "out_of_use", value: "2", flag: 0 });
    expect(await changesOf(item)).toEqual([{ ...item, flag: 3 }]);
  });

  test("leaves managed settings unchanged", async () => {
    const managedBy = (key: string) => (key === "site_title" ? "/etc/site.yaml" : undefined);
    const item = setting({ key: "site_title", value: "Other" });
    expect(await outcomeOf(item, { managedBy })).toMatchObject({
      outcome: "skipped",
      reason: "is managed by /etc/site.yaml",
    });
    const same = setting({ key: "site_title", value: "Harbour" });
    expect(await outcomeOf(same, { managedBy })).toMatchObject({ outcome: "unchanged" });
  });

  test("uses the last of equal keys and reports each key once", async () => {
    const items = [1, 2].map((n) => setting({ key: "twice", value: String(n) }));
    const { entries, changes } = await plan(items);
    expect(entries).toHaveLength(1);
    expect(changes.map(({ value }) => value)).toEqual(["2"]);
  });

  test("reports settings that the backup omitted", async () => {
    const skipped = [{ key: "aria2_secret", reason: "is sealed" }];
    const { entries } = await planImport(
      { source: "mooring", settings: [], skipped },
      { current: () => undefined, normalize: ({ value }) => value, check: () => undefined },
    );
    expect(entries).toEqual([{ key: "aria2_secret", outcome: "skipped", reason: "is sealed" }]);
  });
});

describe("values that belong to one server", () => {
  const own = [
    setting({ key: "token", value: token }),
    setting({ key: "version", value: "v9" }),
    setting({ key: "index_progress", value: "{}" }),
  ];
  test.each([
    ["alist-backup", false, ["skipped", "skipped", "skipped"]],
    ["alist-database", false, ["skipped", "skipped", "skipped"]],
    ["setting-list", false, ["skipped", "skipped", "skipped"]],
    ["mooring", false, ["changed", "skipped", "skipped"]],
    ["alist-backup", true, ["changed", "added", "added"]],
    ["mooring", true, ["changed", "added", "added"]],
  ] as const)("of %s, requested %s", async (source, includeServerOwn, outcomes) => {
    const { entries } = await planImport(
      { source, settings: own, skipped: [] },
      {
        current: (key) => stored[key],
        normalize: ({ value }) => value,
        check: () => undefined,
        includeServerOwn,
      },
    );
    expect(entries.map(({ outcome }) => outcome)).toEqual(outcomes);
    for (const { outcome, reason } of entries)
      if (outcome === "skipped") expect(String(reason)).toContain("belongs to the server");
  });
});
