import { afterEach, beforeEach, expect, test } from "vitest";
import type { SiteStateWrite, SiteStore } from "../../src/sites/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { createBatches } from "../../src/sync/batch.ts";
import { temporaryPaths } from "../store/folder.ts";
import { storedSite } from "../store/site-contract.ts";

const newPath = temporaryPaths();
/** The first one is written alone, then six times sixteen. */
const NAMES = Array.from({ length: 1 + 6 * 16 }, (_, at) => `site-${at}`);

let store: SiteStore;
let close: () => Promise<void>;
let transactions: number;
let write: ReturnType<typeof createBatches<SiteStateWrite, number | undefined>>;

beforeEach(async () => {
  const opened = await openSqliteStore(newPath());
  store = opened.sites;
  close = () => opened.close();
  for (const name of NAMES) await store.insert(storedSite(name), []);
  transactions = 0;
  // The time to collect never elapses: only full batches and urgent writes end it.
  write = createBatches(
    {
      record: (records: readonly SiteStateWrite[]) => {
        transactions += 1;
        return store.record(records);
      },
    },
    60_000,
  );
});

afterEach(() => close());

const recordOf = (siteId: string, version = 0) => ({
  state: { siteId, version, appliedRevision: 7, state: "{}" },
  events: [],
  audit: [],
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("deferrable records of many sites in a row are written sixteen at a time", async () => {
  const written: Promise<number | undefined>[] = [];
  for (const name of NAMES) {
    written.push(write(recordOf(name), { isPatient: true }));
    await turn();
  }
  expect(new Set(await Promise.all(written))).toEqual(new Set([1]));
  expect(transactions).toBe(7);
  expect(await store.states()).toHaveLength(NAMES.length);
});

test("an urgent record is written at once, together with waiting ones", async () => {
  await write(recordOf("site-0"));
  const patient = write(recordOf("site-1"), { isPatient: true });
  expect(transactions).toBe(1);
  const urgent = write(recordOf("site-2"));
  expect(transactions).toBe(2);
  expect(await Promise.all([patient, urgent])).toEqual([1, 1]);
});

test("a record of an older version than the stored one is dropped", async () => {
  await write(recordOf("site-0"));
  const both = [recordOf("site-0", 0), recordOf("site-0", 1)].map((record) => write(record));
  expect(await Promise.all(both)).toEqual([undefined, 2]);
});
