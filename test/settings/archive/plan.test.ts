import { describe, expect, test } from "vitest";
import { type CurrentSetting, planSettings } from "../../../src/settings/archive/plan.ts";
import type { SourceSetting } from "../../../src/settings/archive/row.ts";
import { setting } from "../../archive/setting.ts";

const token = "t".repeat(109);

/** A setting that exists already. */
function current(members: Partial<CurrentSetting> = {}): CurrentSetting {
  const { key: _, ...rest } = setting({ key: "" });
  const { secret = false } = members;
  return { ...rest, hasSecret: secret, secret, definition: {}, ...members };
}

const stored: Record<string, CurrentSetting> = {
  site_title: current({ value: "Harbour", group: 1, help: "ours" }),
  readonly_one: current({ value: "r", flag: 2 }),
  token: current({ value: "o".repeat(51), flag: 1, secret: true }),
  aria2_secret: current({ value: "s", flag: 1, secret: true }),
  my_own: current({ value: "1", definition: undefined }),
  out_of_use: current({ value: "1", flag: 3, definition: undefined }),
};

const plan = (settings: readonly SourceSetting[], more: object = {}) =>
  planSettings(settings, {
    current: (key) => stored[key],
    normalize: ({ value }) => value.trim(),
    check: ({ value }) => (value === "bad" ? "must not be bad" : undefined),
    includeServerOwn: true,
    ...more,
  });
const outcomeOf = async (item: SourceSetting, more: object = {}) =>
  (await plan([item], more)).results[0];
const changesOf = async (...items: readonly SourceSetting[]) => (await plan(items)).changes;

describe("an import", () => {
  test.each([
    [setting({ key: "site_title", value: "Harbour" }), "unchanged", ""],
    [setting({ key: "site_title", value: " Harbour\n" }), "unchanged", ""],
    [setting({ key: "site_title", value: "Other" }), "changed", ""],
    [setting({ key: "site_title", value: "bad" }), "skipped", "must not be bad"],
    [setting({ key: "new_one", value: "x" }), "created", ""],
    [setting({ key: "my_own", value: "1" }), "unchanged", ""],
    [setting({ key: "my_own", value: "1", help: "new help" }), "changed", ""],
    [
      setting({ key: "readonly_one", value: "other" }),
      "skipped",
      expect.sentence(/^is read-only$/),
    ],
    [setting({ key: "readonly_one", value: "r" }), "unchanged", ""],
    [setting({ key: "token", value: token }), "changed", ""],
    [
      setting({ key: "token", value: "short" }),
      "skipped",
      expect.sentence(/^is left unchanged.* 32/),
    ],
    [setting({ key: "token", value: "" }), "skipped", expect.sentence(/^is left unchanged/)],
    [setting({ key: "aria2_secret", value: "********" }), "unchanged", expect.sentence(/mask/)],
    [setting({ key: "other_secret", value: "********" }), "skipped", expect.sentence(/mask/)],
    [
      { ...setting({ key: "aria2_secret" }), value: undefined },
      "unchanged",
      expect.sentence(/omitted/),
    ],
    [
      { ...setting({ key: "other_secret" }), value: undefined },
      "skipped",
      expect.sentence(/omitted/),
    ],
  ])("of %j is planned as %s", async (item, outcome, reason) => {
    expect(await outcomeOf(item)).toMatchObject({ name: item.key, outcome, note: reason });
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
      note: expect.sentence(/^is managed by \/etc\/site\.yaml$/),
      isLoss: true,
    });
    const same = setting({ key: "site_title", value: "Harbour" });
    expect(await outcomeOf(same, { managedBy })).toMatchObject({ outcome: "unchanged" });
  });
});

describe("values that belong to one server", () => {
  const own = [
    setting({ key: "token", value: token }),
    setting({ key: "version", value: "v9" }),
    setting({ key: "index_progress", value: "{}" }),
  ];
  test("are skipped by default, which is no loss, and imported on request", async () => {
    const { results } = await plan(own, { includeServerOwn: false });
    for (const { outcome, note, isLoss } of results) {
      expect([outcome, isLoss]).toEqual(["skipped", false]);
      expect(String(note)).toContain("belongs to the server");
    }
    const asked = await plan(own, { includeServerOwn: true });
    expect(asked.results.map(({ outcome }) => outcome)).toEqual(["changed", "created", "created"]);
  });
});
