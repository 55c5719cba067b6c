import { describe, expect, test, vi } from "vitest";
import { createFingerprint } from "../../../src/secrets/fingerprint.ts";
import type { SettingClient, SiteRow } from "../../../src/sites/settings/client.ts";
import { type RoundOptions, runRound } from "../../../src/sites/settings/round.ts";
import { type KeyCorrections, NEW_STATE, type SiteState } from "../../../src/sites/site.ts";
import { item, snapshotOf } from "../../settings/staged.ts";
import { sampleSite } from "../sample.ts";

const NOW = 10_000_000;
const WINDOW = 600_000;
const hash = createFingerprint(Buffer.alloc(32, 7));
const site = sampleSite({ id: "1", name: "one" });

/** A round with a site in memory; Mooring has "here" for each key. */
async function round(
  there: Readonly<Record<string, string>>,
  state: Partial<SiteState> = {},
  options: Partial<RoundOptions> = {},
) {
  const rows = Object.entries(there).map(([key, value]): SiteRow => {
    return { key, value, type: "string", options: "", help: "", group: 1, flag: 0 };
  });
  const stored = new Map(rows.map((row) => [row.key, row]));
  const save = vi.fn<SettingClient["save"]>(async (saved) => {
    for (const row of saved) stored.set(row.key, row);
  });
  const client = { save, list: async () => [...stored.values()] } as Partial<SettingClient>;
  const items = Object.keys(there).map((key) => item("here", { key }));
  return runRound(
    site,
    { ...NEW_STATE, appliedRevision: 5, ...state },
    { aim: "push", actor: "test", ...options },
    {
      client: client as SettingClient,
      hash,
      now: () => NOW,
      snapshot: snapshotOf(9, items),
    },
  );
}

test.each([
  ["openlist-x", "", "openlist"],
  ["", "v4.1.0", "openlist"],
  ["alist-x", "", "alist"],
  ["", "v3.40.0", "alist"],
  ["x", "v5.0.0", "unknown"],
  ["x-openlist-", "xv4.", "unknown"],
])(
  "a site with the token %j and the version %j is of the kind %s",
  async (token, version, kind) => {
    const { state } = await round({ token, version }, {}, { aim: "read" });
    expect([state.kind, state.version, state.known]).toEqual([kind, version, ["token", "version"]]);
  },
);

test("a round without writes stores nothing, and a push of some keys is not a whole push", async () => {
  const looked = await round({ k: "there" }, {}, { aim: "read" });
  expect(looked).toMatchObject({ results: [], events: [], state: { appliedRevision: 5 } });
  expect(looked.state.drift).toEqual(["k"]);
  const some = await round({ k: "there", l: "there" }, {}, { keys: ["k"] });
  expect(some.results.map(({ key }) => key)).toEqual(["k"]);
  expect([some.state.appliedRevision, some.state.drift]).toEqual([5, ["l"]]);
  const all = await round({ k: "there", l: "there" });
  expect([all.state.appliedRevision, all.state.drift, all.state.reachedAt]).toEqual([9, [], NOW]);
});

describe("a value that drifts repeatedly", () => {
  const corrected = (...ages: readonly number[]): KeyCorrections => {
    return { times: ages.map((age) => NOW - age), isFlapping: false };
  };

  test("is corrected three times in ten minutes, and then left unchanged", async () => {
    const third = await round({ k: "there" }, { corrections: { k: corrected(2, 1) } });
    expect(third.state.corrections).toEqual({
      k: { times: [NOW - 2, NOW - 1, NOW], isFlapping: false },
    });
    expect(third.events.map(({ action }) => action)).toEqual(["correct"]);
    const fourth = await round({ k: "there" }, { corrections: { k: corrected(3, 2, 1) } });
    expect(fourth.results).toEqual([]);
    expect(fourth.comparisons).toMatchObject([{ key: "k", sync: "flapping" }]);
    expect(fourth.state.corrections).toEqual({
      k: { times: [NOW - 3, NOW - 2, NOW - 1], isFlapping: true },
    });
    expect(fourth.events).toMatchObject([
      { action: "flapping", keys: ["k"], revision: 9, time: NOW },
    ]);
    expect(fourth.state.drift).toEqual(["k"]);
  });

  test("counts again when a correction is ten minutes old", async () => {
    const old = await round({ k: "there" }, { corrections: { k: corrected(WINDOW, 2, 1) } });
    expect(old.state.corrections).toEqual({
      k: { times: [NOW - 2, NOW - 1, NOW], isFlapping: false },
    });
    const over = await round({ k: "here" }, { corrections: { k: corrected(WINDOW) } });
    expect(over.state.corrections).toEqual({});
    const young = await round({ k: "here" }, { corrections: { k: corrected(WINDOW - 1) } });
    expect(young.state.corrections).toEqual({ k: corrected(WINDOW - 1) });
  });

  test("is left unchanged until a request, for any age of its corrections", async () => {
    const left = { ...corrected(WINDOW), isFlapping: true };
    const { results, comparisons, state } = await round(
      { k: "there" },
      { corrections: { k: left } },
    );
    expect([results, state.corrections]).toEqual([[], { k: { times: [], isFlapping: true } }]);
    expect(comparisons).toMatchObject([{ key: "k", sync: "flapping" }]);
  });

  test("is corrected on request, any number of times", async () => {
    const { results, state } = await round(
      { k: "there" },
      { corrections: { k: { ...corrected(3, 2, 1), isFlapping: true } } },
      { force: true },
    );
    expect(results).toMatchObject([{ key: "k", outcome: "applied" }]);
    expect(state.corrections).toEqual({});
  });
});

test("a refused value is tried again on request, and only the requested one", async () => {
  const refused = { hash: hash.of("here"), reason: "no", code: 500 };
  const state = { refused: { k: refused, l: refused } };
  const both = { k: "there", l: "there" };
  expect((await round(both, state)).results).toEqual([]);
  const { results, state: after } = await round(both, state, { force: true, keys: ["k"] });
  expect(results).toMatchObject([{ key: "k", outcome: "applied" }]);
  expect(after.refused).toEqual({ l: refused });
});
