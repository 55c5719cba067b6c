import { describe, expect, test } from "vitest";
import { createFingerprint } from "../../../src/secrets/fingerprint.ts";
import { knownItem, type SettingItem } from "../../../src/settings/item.ts";
import type { SiteRow } from "../../../src/sites/settings/client.ts";
import { type Comparison, compare } from "../../../src/sites/settings/compare.ts";
import { NEW_STATE, type Site, type SiteState } from "../../../src/sites/site.ts";
import { defined } from "../../settings/parts.ts";
import { snapshotOf } from "../../settings/staged.ts";
import { sampleSite } from "../sample.ts";

const hash = createFingerprint(Buffer.alloc(32, 7));
const everything = sampleSite({ id: "1", name: "one" });
const itemOf = (value: string, more: Partial<SettingItem> = {}): SettingItem => ({
  ...knownItem(defined({ key: "k" }), value),
  revision: 5,
  ...more,
});
const rowOf = (value: string, more: Partial<SiteRow> = {}): SiteRow => ({
  key: "k",
  value,
  type: "string",
  options: "",
  help: "",
  group: 1,
  flag: 0,
  ...more,
});

interface Case {
  readonly items?: readonly SettingItem[];
  readonly rows?: readonly SiteRow[];
  readonly site?: Partial<Site>;
  readonly state?: Partial<SiteState>;
}
const compared = ({ items = [], rows = [], site = {}, state = {} }: Case): Comparison[] =>
  compare(
    rows,
    { ...everything, ...site },
    {
      state: { ...NEW_STATE, ...state },
      snapshot: snapshotOf(9, items),
      hash,
    },
  );
const differing = { items: [itemOf("a")], rows: [rowOf("b")] };
const one = (input: Case): Partial<Comparison> => compared(input)[0] ?? {};

describe("a setting compared with a site", () => {
  test("has the same value, another one, or no row there", () => {
    expect(compared({ items: [itemOf("a")], rows: [rowOf("a")] })).toEqual([
      {
        key: "k",
        sync: "same",
        wanted: "a",
        row: rowOf("a"),
        item: itemOf("a"),
        secret: false,
        overridden: false,
        drifted: false,
        note: "",
      },
    ]);
    expect(compared(differing)).toMatchObject([{ sync: "differs", wanted: "a", note: "" }]);
    for (const rows of [[], [rowOf("a", { flag: 3 })]])
      expect(compared({ items: [itemOf("a")], rows })).toMatchObject([
        { sync: "missing", note: expect.sentence(/./), row: undefined },
      ]);
    expect(one({ ...differing, items: [itemOf("a", { secret: true })] }).secret).toBe(true);
  });

  test("that is deprecated, or that each site writes itself, is left out", () => {
    expect(compared({ ...differing, items: [itemOf("a", { flag: 3 })] })).toEqual([]);
    const token = { items: [itemOf("a", { key: "token" })], rows: [rowOf("b", { key: "token" })] };
    expect(compared(token)).toEqual([]);
    expect(compared({ rows: token.rows })).toEqual([]);
  });

  test("has the note of its key", () => {
    const title = { key: "site_title" };
    const named = { items: [itemOf("a", title)], rows: [rowOf("b", title)] };
    expect(one(named)).toMatchObject({ sync: "differs", note: expect.sentence(/./) });
    expect(one({ rows: [rowOf("b", title)] })).toMatchObject({
      sync: "extra",
      note: expect.sentence(/./),
    });
  });

  test("may have an override of the site", () => {
    const site = { overrides: { k: "own" } };
    const own = { sync: "differs", wanted: "own", overridden: true };
    expect(one({ ...differing, site })).toMatchObject(own);
    expect(one({ ...differing, rows: [rowOf("own")], site }).sync).toBe("same");
  });

  test("has drifted if the current value was on the site before", () => {
    const drifted = (appliedRevision: number) =>
      one({ ...differing, state: { appliedRevision } }).drifted;
    expect([0, 4, 5, 6].map(drifted)).toEqual([false, false, true, true]);
    const made = itemOf("a", { revision: 0 });
    expect(one({ ...differing, items: [made] }).drifted).toBe(false);
  });
});

describe("a row that only the site has", () => {
  test("is extra, or excluded by the patterns of the site", () => {
    const row = rowOf("b");
    expect(compared({ rows: [row] })).toEqual([
      {
        key: "k",
        sync: "extra",
        wanted: undefined,
        row,
        item: undefined,
        secret: false,
        overridden: false,
        drifted: false,
        note: "",
      },
    ]);
    expect(one({ rows: [row], site: { exclude: ["k"] } }).sync).toBe("excluded");
    expect(one({ rows: [row], site: { include: ["group:2"] } }).sync).toBe("excluded");
    expect(one({ rows: [row], site: { include: ["group:1"] } }).sync).toBe("extra");
    expect(one({ rows: [rowOf("b", { flag: 1 })] }).secret).toBe(true);
    expect(compared({ rows: [rowOf("b", { flag: 3 })] })).toEqual([]);
  });
});

describe("the same value in another notation", () => {
  const same = (wanted: string, value: string, more: Case = {}, key = "k") =>
    one({
      items: [itemOf(wanted, { key, definition: defined({ key }) })],
      rows: [rowOf(value, { key })],
      ...more,
    }).sync === "same";

  test("is equal by the rules of the setting", () => {
    const definition = defined({ key: "k", type: "bool", default: "false" });
    const of = (value: string, known: typeof definition | undefined) =>
      one({ items: [itemOf("true", { definition: known })], rows: [rowOf(value)] }).sync;
    expect([of("1", definition), of("0", definition)]).toEqual(["same", "differs"]);
    expect(of("1", undefined)).toBe("differs");
  });

  test("is equal by white space and listed values, for keys where they have no meaning", () => {
    expect(same(" 1\n", "1", {}, "multipart_chunk_size")).toBe(true);
    expect(same("1", "2", {}, "multipart_chunk_size")).toBe(false);
    expect(same(" 1\n", "1")).toBe(false);
    expect(same("1", "guest", {}, "default_role")).toBe(true);
    expect(same("2", "guest", {}, "default_role")).toBe(false);
    expect(same("1", "guest")).toBe(false);
  });

  test("is equal in the form that the site has rewritten", () => {
    const rewritten = { k: { sent: hash.of("a"), got: hash.of("A!") } };
    const state = { state: { rewritten } };
    expect(same("a", "A!", state)).toBe(true);
    expect(same("b", "A!", state)).toBe(false);
    expect(same("a", "B!", state)).toBe(false);
    expect(same("a", "A!")).toBe(false);
  });
});

describe("a setting that differs", () => {
  const held = { k: { revision: 5, reason: "breaks a rule" } };
  const refused = { k: { hash: hash.of("a"), reason: "not wanted" } };
  const left = { k: { times: [], isFlapping: true } };

  test("is excluded by the patterns of the site", () => {
    expect(one({ ...differing, site: { exclude: ["k"] } }).sync).toBe("excluded");
    expect(one({ ...differing, site: { include: ["other"] } }).sync).toBe("excluded");
  });

  test("is pinned until it changes in Mooring or gets an override", () => {
    const state = { held };
    expect(one({ ...differing, state })).toMatchObject({ sync: "pinned", note: "breaks a rule" });
    const since = [itemOf("a", { revision: 6 })];
    expect(one({ ...differing, items: since, state }).sync).toBe("differs");
    expect(one({ ...differing, site: { overrides: { k: "c" } }, state }).sync).toBe("differs");
  });

  test("was refused, until its value changes", () => {
    const state = { refused };
    expect(one({ ...differing, state })).toMatchObject({ sync: "refused", note: "not wanted" });
    expect(one({ ...differing, items: [itemOf("c")], state }).sync).toBe("differs");
  });

  test("is flapping while it is not corrected and unchanged in Mooring", () => {
    const flapping = { corrections: left, appliedRevision: 5 };
    const found = one({ ...differing, state: flapping });
    expect(found).toMatchObject({ sync: "flapping", note: expect.sentence(/./) });
    expect(one({ ...differing, state: { corrections: left, appliedRevision: 4 } }).sync).toBe(
      "differs",
    );
    const corrections = { k: { times: [], isFlapping: false } };
    expect(one({ ...differing, state: { corrections, appliedRevision: 5 } }).sync).toBe("differs");
  });
});
