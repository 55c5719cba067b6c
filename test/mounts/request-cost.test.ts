// Cost of requests on mounts, counted: the largest and the most repetitive form.

import { describe, expect, test, vi } from "vitest";
import { createDraft } from "../../src/ledger/draft.ts";
import { nameProblem } from "../../src/mounts/input.ts";
import { SITE_MOUNTS } from "../../src/mounts/kind.ts";
import type { Mount } from "../../src/mounts/mount.ts";
import { decideSave } from "../../src/mounts/save.ts";
import { mountSaver } from "../../src/mounts/saver.ts";
import { freeName } from "../../src/mounts/site/adoption.ts";
import { saveEach } from "../../src/records/save-each.ts";
import { findClash, PathIndex } from "../../src/sites/path-index.ts";
import { baseOf, sampleMount, snapshotOf } from "../settings/staged.ts";
import { siteNames } from "../sites/names.ts";
import { failureOf } from "../thrown.ts";
import { saveRules } from "./save-rules.ts";

const COUNT = 300;
const many = <T>(make: (at: number) => T): T[] =>
  Array.from({ length: COUNT }, (_, at) => make(at));

/** An empty draft that counts the iterations over all keys of mounts. */
function countingDraft() {
  const counted = { passes: 0 };
  const draft = createDraft({
    ...baseOf(snapshotOf(1, [])),
    keys: () => {
      counted.passes += 1;
      return [];
    },
  });
  return { counted, draft };
}

const rules = saveRules({ driverOf: () => undefined, sites: siteNames() });

const mountAt = (name: string, path: string, more: Partial<Mount> = {}) =>
  sampleMount(name, { path, ...more });

describe("the index of mounts", () => {
  test("finds each mount by its current paths", () => {
    const index = new PathIndex([["a", mountAt("a", "/a")]]);
    index.set(
      "b",
      mountAt("b", "/b", { overrides: { home: { path: "/a", items: {}, members: {} } } }),
    );
    expect(index.at(["/a"]).map(([name]) => name)).toEqual(["a", "b"]);
    expect(index.at(["/b", "/a"]).map(([name]) => name)).toEqual(["b", "a"]);
    index.set("a", mountAt("a", "/elsewhere"));
    expect(index.at(["/a"]).map(([name]) => name)).toEqual(["b"]);
    index.delete("b");
    expect(index.at(["/a", "/b"])).toEqual([]);
    expect([...index.keys()]).toEqual(["a"]);
  });

  test("finds a clash by path, without a read of other mounts", () => {
    const index = new PathIndex(many((at) => [`m${at}`, mountAt(`m${at}`, `/m/${at}`)] as const));
    const other = mountAt("other", "/m/7");
    index.set("other", other);
    vi.spyOn(index, "values").mockImplementation(() => expect.unreachable("all are looked at"));
    vi.spyOn(index, "entries").mockImplementation(() => expect.unreachable("all are looked at"));
    expect(findClash("other", other, index, [])?.other.name).toBe("m7");
    expect(findClash("free", mountAt("free", "/free"), index, [])).toBeUndefined();
  });

  test.each([
    ["both on all sites", {}, {}, ["home"], "home"],
    ["both on all sites, without sites", {}, {}, [], undefined],
    ["one on one site", {}, { siteIds: ["away"] }, ["home", "away"], "away"],
    ["one on one site, the other way round", { siteIds: ["away"] }, {}, ["home", "away"], "away"],
    ["one site with both", { siteIds: ["a", "b"] }, { siteIds: ["b", "c"] }, ["a", "b", "c"], "b"],
  ])("finds a clash on a common site: %s", (_name, mine, theirs, sites, site) => {
    const mount = mountAt("mine", "/x", mine);
    const index = new PathIndex([
      ["mine", mount],
      ["theirs", mountAt("theirs", "/x", theirs)],
    ]);
    expect(findClash(mount.name, mount, index, sites)).toMatchObject({ other: { name: "theirs" } });
    expect(findClash(mount.name, mount, index, sites)?.site).toBe(site);
  });

  test.each([
    ["on different sites", { siteIds: ["a"] }, { siteIds: ["b"] }],
    [
      "with another path on the site",
      { overrides: { a: { path: "/y", items: {}, members: {} } }, siteIds: ["a"] },
      {},
    ],
  ])("finds no clash %s", (_name, mine, theirs) => {
    const mount = mountAt("mine", "/x", mine);
    const index = new PathIndex([
      ["mine", mount],
      ["theirs", mountAt("theirs", "/x", theirs)],
    ]);
    expect(findClash(mount.name, mount, index, ["a", "b"])).toBeUndefined();
  });
});

describe("a save of many mounts", () => {
  test("never iterates over all keys", async () => {
    const { counted, draft } = countingDraft();
    const inputs = many((at) => ({ name: `m${at}`, path: `/m/${at}`, driver: "Local" }));
    await failureOf(() => decideSave(draft, inputs, new PathIndex([]), rules));
    expect(counted.passes).toBe(0);
  });

  test("copies the list of changes at most once", async () => {
    const { draft } = countingDraft();
    const changes = vi.spyOn(draft, "changes");
    const inputs = many((at) => ({ name: `m${at}`, path: `/m/${at}`, driver: "Local" }));
    await failureOf(() => decideSave(draft, inputs, new PathIndex([]), rules));
    expect(changes.mock.calls.length).toBeLessThanOrEqual(1);
  });

  test("with each mount tried alone keeps nothing of refused ones", async () => {
    const { draft } = countingDraft();
    const existing = mountAt("there", "/there");
    const mounts = new PathIndex([["there", existing]]);
    const inputs = [
      { name: "there", path: "no slash" },
      { name: "new", path: "/there", driver: "Nonsense" },
    ];
    const results = await saveEach(SITE_MOUNTS, mountSaver(draft, rules), inputs, mounts);
    expect(results.map(({ outcome }) => outcome)).toEqual(["skipped", "skipped"]);
    expect(draft.changes()).toEqual([]);
    expect([...mounts]).toEqual([["there", existing]]);
  });
});

describe("a document of mounts", () => {
  test("with equal names derived from paths numbers them in one pass", () => {
    const taken = new Set<string>();
    const has = vi.spyOn(taken, "has");
    const names = many(() => freeName("/films/4K!", taken));
    expect(names.slice(0, 3)).toEqual(["films-4K", "films-4K-2", "films-4K-3"]);
    expect(new Set(names).size).toBe(COUNT);
    expect(has.mock.calls.length).toBeLessThanOrEqual(3 * COUNT);
  });

  test.each([
    ["/films/4K!", "films-4K"],
    ["/本机存储", "本机存储"],
    ["/电影/第一季 (全)", "电影-第一季-全"],
    ["/Musique/Été", "Musique-Ete"],
    ["/음악", "음악"],
    ["/संगीत", "संगीत"],
    ["/ＡＢＣ", "ABC"],
    ["/🎬", "mount"],
    ["/._-", "mount"],
    ["/𠮷野家", "𠮷野家"],
    [`/${"长".repeat(200)}`, "长".repeat(48)],
    [`/${"𠮷".repeat(200)}`, "𠮷".repeat(48)],
    ["/e\u0301", "e"],
  ])("has readable names for paths: %s", (path, name) => {
    expect(freeName(path, new Set())).toBe(name);
    expect(nameProblem(name)).toBeUndefined();
  });

  test("cuts a path that grows by decomposition before it", () => {
    expect(freeName("\ufdfa".repeat(1_000_000), new Set()).length).toBeLessThanOrEqual(48);
  });
});
