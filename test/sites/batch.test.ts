import { afterEach, beforeEach, expect, test } from "vitest";
import { createBatches } from "../../src/sites/batch.ts";
import type { SiteRecord, SiteStore } from "../../src/sites/store.ts";
import { openSqliteSettingStore } from "../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../store/folder.ts";
import { storedSite } from "../store/site-contract.ts";

const newPath = temporaryPaths();
const NAMES = Array.from({ length: 100 }, (_, at) => `site-${at}`);

let store: SiteStore;
let close: () => Promise<void>;
let transactions: number;
let write: ReturnType<typeof createBatches<SiteRecord, number | undefined>>;

beforeEach(async () => {
  const opened = await openSqliteSettingStore(newPath());
  store = opened.sites;
  close = () => opened.close();
  for (const name of NAMES) await store.insert(storedSite(name), []);
  transactions = 0;
  write = createBatches({
    record: (records: readonly SiteRecord[]) => {
      transactions += 1;
      return store.record(records);
    },
  });
});

afterEach(() => close());

const recordOf = (siteId: string, version = 0) => ({
  state: { siteId, version, appliedRevision: 7, state: "{}" },
  events: [],
  audit: [],
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("what is known of a hundred sites, one after the other, is a few transactions", async () => {
  const written: Promise<number | undefined>[] = [];
  for (const name of NAMES) {
    written.push(write(recordOf(name), { isPatient: true }));
    await turn();
  }
  expect(new Set(await Promise.all(written))).toEqual(new Set([1]));
  expect(transactions).toBeLessThan(NAMES.length / 3);
  expect(await store.states()).toHaveLength(NAMES.length);
});

test("what somebody waits for is written at once, and takes along what may wait", async () => {
  await write(recordOf("site-0"));
  const patient = write(recordOf("site-1"), { isPatient: true });
  expect(transactions).toBe(1);
  const urgent = write(recordOf("site-2"));
  expect(transactions).toBe(2);
  expect(await Promise.all([patient, urgent])).toEqual([1, 1]);
});

test("each is told whether somebody else has written since", async () => {
  await write(recordOf("site-0"));
  const both = [recordOf("site-0", 0), recordOf("site-0", 1)].map((record) => write(record));
  expect(await Promise.all(both)).toEqual([undefined, 2]);
});
