import { beforeEach, describe, expect, test } from "vitest";
import { createSealer } from "../../src/secrets/sealer.ts";
import { createSiteRegistry } from "../../src/sites/registry.ts";
import type { SiteEvent, SiteStore, StoredSite, StoredSiteState } from "../../src/sites/store.ts";
import { type PlaceOf, placeForEach } from "./place.ts";

type SitePlace = PlaceOf<{ readonly sites: SiteStore; close(): Promise<void> }>;

/**
 * State of an unreachable site by an earlier version: the pause before the next attempt had a
 * fraction.
 */
const WRITTEN = `{"reachedAt":1795470790970.5,"kind":"openlist","version":"v4.2.5","known":["site_title"],
"drift":[],"refused":{},"rewritten":{},"held":{},
"corrections":{"site_title":{"times":[1795470790970.25],"isFlapping":false}},"missing":[],
"error":{"kind":"unreachable","message":"nothing listens there","since":1795470793971.75},
"failures":7,"nextTry":1795470824970.8433}`;

/** Contract of every store of sites. */
export function describeSiteStore(name: string, newPlace: () => Promise<SitePlace>): void {
  describe(name, () => {
    const { open, store: opened } = placeForEach(newPlace);
    let store: SiteStore;
    beforeEach(() => {
      store = opened.sites;
    });

    test("sites are read as written, by name, also from another connection", async () => {
      const two = [storedSite("b", { paused: true, upstream: true }), storedSite("a")];
      for (const each of two) expect(await store.insert(each, [])).toBe(true);
      const other = await open();
      expect(await other.sites.list()).toEqual([two[1], two[0]]);
    });

    test("one of several sites that are added at the same time gets a name and an address", async () => {
      const ids = Array.from({ length: 20 }, (_, at) => `s${at}`);
      const named = ids.map((id) => store.insert(storedSite(id, { name: "home" }), []));
      expect((await Promise.all(named)).filter(Boolean)).toHaveLength(1);
      const [home] = await store.list();
      const placed = ids.map((id) =>
        store.insert(storedSite(`${id}2`, { address: home?.address ?? "" }), []),
      );
      expect((await Promise.all(placed)).filter(Boolean)).toEqual([]);
    });

    test("a state that has fractions of milliseconds is read with whole ones", async () => {
      const sealer = createSealer(["0f".repeat(32)]);
      const site = storedSite("a", { token: sealer.seal("site a token", "t") });
      const overrides = sealer.seal("site a overrides", "{}");
      await store.insert({ ...site, overrides }, []);
      const state = { siteId: "a", version: 0, appliedRevision: 3, state: WRITTEN };
      await store.record([{ state, events: [], audit: [] }]);
      const registry = createSiteRegistry({ store, sealer, onClosed: () => undefined });
      await registry.load();
      expect(registry.state("a")).toMatchObject({
        reachedAt: 1795470790970,
        nextTry: 1795470824970,
        failures: 7,
        error: { kind: "unreachable", since: 1795470793971 },
        corrections: { site_title: { times: [1795470790970], isFlapping: false } },
      });
      expect(await registry.record("a", registry.state("a"))).toBe(true);
      const [written] = await store.states();
      expect(written?.state).not.toMatch(/\d\.\d+[,}\]]/);
    });

    test("names and addresses of sites are unique", async () => {
      await store.insert(storedSite("a"), []);
      expect(await store.insert(storedSite("b", { name: "site a" }), [])).toBe(false);
      expect(await store.insert(storedSite("b", { address: "http://a.example" }), [])).toBe(false);
      await store.insert(storedSite("b"), []);
      expect(await store.update(storedSite("b", { name: "site a" }), [])).toBe(false);
      expect(await store.update(storedSite("b", { name: "another", mode: "follow" }), [])).toBe(
        true,
      );
      expect(await store.update(storedSite("c"), [])).toBe(false);
      expect((await store.list()).map(({ name }) => name)).toEqual(["another", "site a"]);
    });

    test("a change of a row that was changed in between is not written", async () => {
      const [before, after] = [storedSite("a"), storedSite("a", { paused: true })];
      await store.insert(before, []);
      expect(await store.update(after, [], before)).toBe(true);
      expect(await store.update(storedSite("a", { mode: "follow" }), [], before)).toBeUndefined();
      expect(await store.update(storedSite("b"), [], storedSite("b"))).toBeUndefined();
      expect(await store.list()).toEqual([after]);
    });

    test("state and log are deleted with the site", async () => {
      await store.insert(storedSite("a"), []);
      const event = {
        time: 5,
        actor: "ann",
        action: "push",
        revision: 7,
        keys: ["x"],
        result: "ok",
      };
      const known = { siteId: "a", version: 0, appliedRevision: 7, state: "{}" };
      const record = async (state: StoredSiteState, events: readonly SiteEvent[]) =>
        (await store.record([{ state, events, audit: [] }]))[0];
      expect(await record(known, [event, event])).toBe(1);
      expect(await record({ ...known, state: "late" }, [event])).toBeUndefined();
      const next = { ...known, version: 1, appliedRevision: 8, state: '{"x":1}' };
      expect(await record(next, [])).toBe(2);
      expect(await store.states()).toEqual([{ ...next, version: 2 }]);
      expect(await store.log("a", { limit: 10 })).toEqual([
        { ...event, seq: 2 },
        { ...event, seq: 1 },
      ]);
      expect(await store.log("a", { limit: 10, before: 2 })).toHaveLength(1);
      await store.note([{ siteId: "a", events: [{ ...event, action: "mount" }], audit: [] }]);
      const others = { limit: 1, without: ["mount", "rule"] };
      expect((await store.log("a", others)).map(({ seq }) => seq)).toEqual([2]);
      expect((await store.log("a", { ...others, before: 2 })).map(({ seq }) => seq)).toEqual([1]);
      await store.delete("a", []);
      expect(await record({ ...known, version: 2 }, [event])).toBeUndefined();
      expect([await store.states(), await store.log("a", { limit: 10 })]).toEqual([[], []]);
    });

    test("the version differs after each change, also by another connection, and is otherwise equal", async () => {
      const other = await open();
      const seen: (string | undefined)[] = [await store.version()];
      const state = { siteId: "a", version: 0, appliedRevision: 7, state: "{}" };
      const steps = [
        () => store.insert(storedSite("a"), []),
        () => other.sites.update(storedSite("a", { mode: "follow" }), []),
        () => other.sites.record([{ state, events: [], audit: [] }]),
        () => store.delete("a", []),
      ];
      for (const step of steps) {
        await step();
        const version = await store.version();
        expect(seen).not.toContain(version);
        seen.push(version);
      }
      await store.update(storedSite("b"), []);
      await store.record([{ state, events: [], audit: [] }]);
      await store.lease("sites", "one", 1_000, 100);
      await Promise.all([store.list(), store.states(), store.log("a", { limit: 10 })]);
      expect(await store.version()).toBe(seen.at(-1));
      expect(await other.sites.version()).toBe(seen.at(-1));
    });

    test("the log keeps the newest thousand", async () => {
      await store.insert(storedSite("a"), []);
      const event = { time: 5, actor: "", action: "push", revision: 7, keys: [], result: "" };
      for (let at = 0; at < 3; at += 1)
        await store.record([
          {
            state: { siteId: "a", version: at, appliedRevision: 0, state: "{}" },
            events: Array.from({ length: 400 }, () => event),
            audit: [],
          },
        ]);
      const all = await store.log("a", { limit: 5_000 });
      expect([all.length, all[0]?.seq, all.at(-1)?.seq]).toEqual([1_000, 1_200, 201]);
    });

    test("a lease is held by one process until it expires or is released", async () => {
      expect(await store.lease("sites", "one", 1_000, 100)).toBe(true);
      expect(await store.lease("sites", "two", 1_050, 100)).toBe(false);
      expect(await store.lease("sites", "one", 1_090, 100)).toBe(true);
      expect(await store.lease("sites", "two", 1_191, 100)).toBe(true);
      expect(await store.lease("sites", "one", 1_192, 100)).toBe(false);
      await store.release("sites", "one");
      expect(await store.lease("sites", "one", 1_193, 100)).toBe(false);
      await store.release("sites", "two");
      expect(await store.lease("sites", "one", 1_194, 100)).toBe(true);
    });
  });
}

export function storedSite(id: string, members: Partial<StoredSite> = {}): StoredSite {
  return {
    id,
    name: `site ${id}`,
    url: `http://${id}.example`,
    address: `http://${id}.example`,
    token: "sealed",
    ca: "",
    pin: "",
    mode: "observe",
    include: "[]",
    exclude: "[]",
    overrides: "{}",
    paused: false,
    restoring: 0,
    upstream: false,
    created: 1_700_000_000_000,
    ...members,
  };
}
