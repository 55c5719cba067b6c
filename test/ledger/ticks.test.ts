// Large changes are decided and written in many ticks of the event loop. The clock advances by a
// millisecond at each read, so that the count depends on the work alone.

import { beforeEach, describe, expect, test, vi } from "vitest";
import { SETTINGS } from "../../src/settings/kind.ts";
import { importSettings, type Parts, restore, save, tester, testParts } from "../settings/parts.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";
import { ticksDuring } from "../ticks-during.ts";

const newPath = temporaryPaths();

beforeEach(() => {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 1));
  return () => clock.mockRestore();
});

const COUNT = 800;
const many = (value: string) =>
  Array.from({ length: COUNT }, (_, at) => ({ key: `many_${at}`, value, flag: 1 }));
const backupOf = (value: string) => ({
  data: many(value).map((setting) => ({ ...setting, type: "string", group: 0 })),
});

/** Ticks of a pass over all items: one at every eighth read of the clock. */
const TICKS = COUNT / 8;

interface LargeChange {
  /** Passes over all items, each with ticks of its own. */
  readonly passes: number;
  readonly change: (parts: Parts) => Promise<unknown>;
  readonly prepare?: (parts: Parts) => Promise<unknown>;
}

const changes: Readonly<Record<string, LargeChange>> = {
  "a save": { passes: 7, change: ({ settings }) => settings.save(many("1"), tester) },
  "a dry run of a save": {
    passes: 3,
    change: ({ settings }) => settings.save(many("1"), tester, { dryRun: true }),
  },
  "an import": {
    passes: 8,
    change: (parts) => importSettings(parts, backupOf("1")),
  },
  "a dry run of an import": {
    passes: 4,
    change: (parts) => importSettings(parts, backupOf("1"), { dryRun: true }),
  },
  "a rollback": {
    passes: 7,
    change: (parts) => restore(parts, 0),
    prepare: ({ settings }) => settings.save(many("1"), tester),
  },
};

test("a comparison of many revisions yields to the event loop", async () => {
  const parts = await testParts(newPath());
  for (let at = 0; at < 80; at += 1) await save(parts, { site_title: `${at}` });
  const { ticks, result } = await ticksDuring(() => parts.history.diff(0, 0));
  expect(result).toMatchObject([{ key: "site_title", newBody: "79" }]);
  // A query for ten revisions reads the clock once.
  expect(ticks).toBeGreaterThanOrEqual(1);
});

describe("a change of many settings", () => {
  test.each(Object.entries(changes))("yields to the event loop: %s", async (_, one) => {
    const parts = await testParts(newPath());
    await one.prepare?.(parts);
    const { ticks } = await ticksDuring(() => one.change(parts));
    expect(Math.floor(ticks / TICKS)).toBe(one.passes);
  });

  test("is one revision, which becomes visible at once and as a whole", async () => {
    const parts = await testParts(newPath());
    const seen = new Set<string>();
    let isOver = false;
    const check = (): void => {
      const items = [...parts.ledger.snapshot().of(SETTINGS).items()];
      seen.add(
        `${parts.ledger.snapshot().revision}: ${items.filter(({ key }) => key.startsWith("many_")).length}`,
      );
      if (!isOver) setImmediate(check);
    };
    check();
    await importSettings(parts, backupOf("1"));
    isOver = true;
    check();
    expect([...seen]).toEqual(["0: 0", `1: ${COUNT}`]);
  });

  test("delays concurrent changes, which are decided after it", async () => {
    const parts = await testParts(newPath());
    const importing = importSettings(parts, backupOf("1"));
    // The import has begun: it has the write lock, and yields to the event loop periodically.
    await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
    const saving = save(parts, { many_7: "2", site_title: "after" });
    const reading = parts.history.list({ pageSize: 0 });
    expect(await importing).toMatchObject({ revision: 1 });
    expect(await saving).toMatchObject({ revision: 2 });
    expect(parts.settings.get("many_7")).toMatchObject({ value: "2", revision: 2 });
    expect(parts.settings.get("many_8")).toMatchObject({ value: "1", revision: 1 });
    expect((await reading).revisions.length).toBeLessThanOrEqual(2);
    const stored = await parts.store.load();
    expect(stored.revision).toBe(2);
    expect(stored.records).toHaveLength(COUNT + 1);
  });

  test("leaves nothing behind when its last setting is refused", async () => {
    const parts = await testParts(newPath());
    const wrong = { data: [...backupOf("1").data, { key: "default_page_size", value: "many" }] };
    const saving = save(parts, { site_title: "beside" });
    await failureOf(() => importSettings(parts, wrong));
    await saving;
    const stored = await parts.store.load();
    expect(stored.records.map(({ key }) => key)).toEqual(["site_title"]);
    expect(parts.ledger.snapshot().revision).toBe(1);
  });
});
