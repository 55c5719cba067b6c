import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSealer } from "../../src/secrets/sealer.ts";
import { createBook } from "../../src/sites/book.ts";
import { openPostgresSettingStore } from "../../src/store/postgres/store.ts";
import { openSqliteSettingStore } from "../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../store/folder.ts";
import { serverOf } from "../store/postgres/pglite.ts";
import { storedSite } from "../store/site-contract.ts";

const newPath = temporaryPaths();

let postgres: PGlite;
beforeAll(async () => {
  postgres = await PGlite.create();
}, 90_000);
afterAll(() => postgres.close());

/** What an earlier version wrote of a site that was down: the pause before the next try had a fraction. */
const WRITTEN = `{"reachedAt":1795470790970.5,"kind":"openlist","version":"v4.2.5","known":["site_title"],
"drift":[],"refused":{},"rewritten":{},"held":{},
"fights":{"site_title":{"times":[1795470790970.25],"left":false}},"missing":[],
"error":{"kind":"unreachable","message":"nothing listens there","since":1795470793971.75},
"failures":7,"nextTry":1795470824970.8433}`;

const places = [
  ["SQLite", () => openSqliteSettingStore(newPath())],
  ["PostgreSQL", () => openPostgresSettingStore(serverOf(postgres))],
] as const;

describe.each(places)("a state on %s", (_name, open) => {
  test("that has fractions of milliseconds is read with whole ones", async () => {
    const store = await open();
    const sealer = createSealer(["0f".repeat(32)]);
    const site = storedSite("a", { token: sealer.seal("site a token", "t") });
    const overrides = sealer.seal("site a overrides", "{}");
    await store.sites.insert({ ...site, overrides }, []);
    const state = { siteId: "a", version: 0, appliedRevision: 3, state: WRITTEN };
    await store.sites.record([{ state, events: [], audit: [] }]);
    const book = createBook({ store: store.sites, sealer, onClosed: () => undefined });
    await book.load();
    expect(book.state("a")).toMatchObject({
      ...{ reachedAt: 1795470790970, nextTry: 1795470824970, failures: 7 },
      error: { kind: "unreachable", since: 1795470793971 },
      fights: { site_title: { times: [1795470790970], left: false } },
    });
    expect(await book.record("a", book.state("a"))).toBe(true);
    const [written] = await store.sites.states();
    expect(written?.state).not.toMatch(/\d\.\d+[,}\]]/);
    await store.close();
  });
});
