import { expect, onTestFinished, test } from "vitest";
import { createIncidentRegistry } from "../../src/incidents/registry.ts";
import type { StorageRow } from "../../src/mounts/site/row.ts";
import type { Site } from "../../src/sites/site.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { startedForEach } from "../started.ts";
import { temporaryPaths } from "../store/folder.ts";

const newPath = temporaryPaths();
const store = startedForEach(() => openSqliteStore(newPath()));
const hostile = { id: "h", name: "hostile" } as Site;
const home = { id: "s", name: "home" } as Site;

function failing(at: number, status = `failed ${at}`): StorageRow {
  return {
    id: at + 1,
    mount_path: `/${at}`,
    driver: "S3",
    addition: "{}",
    status,
    disabled: false,
  };
}

const rowsOf = (count: number, status?: string): StorageRow[] =>
  Array.from({ length: count }, (_, at) => failing(at, status));

function start() {
  const leftOut: [string, number][] = [];
  let made = 0;
  let written = 0;
  const registry = createIncidentRegistry({
    store: {
      ...store.incidents,
      write: (incidents, deliveries) => {
        written += incidents.length;
        return store.incidents.write(incidents, deliveries);
      },
    },
    now: Date.now,
    newId: () => {
      made += 1;
      return `id-${made}`;
    },
    driverOf: () => undefined,
    announce: () => [],
    join: () => undefined,
    onChange: () => undefined,
    onLeftOut: ({ name }, count) => leftOut.push([name, count]),
  });
  const openOf = ({ id }: Site) => registry.open().filter(({ siteId }) => siteId === id);
  return { registry, leftOut, openOf, made: () => made, written: () => written };
}

test("a site has at most a thousand incidents; those left out are reported once", async () => {
  const { registry, leftOut, openOf, made, written } = start();
  await registry.listed(hostile, rowsOf(10_000));
  expect(openOf(hostile)).toHaveLength(1_000);
  expect(leftOut).toEqual([["hostile", 9_000]]);
  await registry.listed(home, rowsOf(3));
  expect(openOf(home)).toHaveLength(3);
  // Other messages of the same rows are the same incidents.
  await registry.listed(hostile, rowsOf(10_000, "another failure"));
  expect(leftOut).toHaveLength(1);
  expect(made()).toBe(1_003);
  expect(written()).toBe(2_003);
  expect(await store.incidents.list({ open: true, limit: 5_000 })).toHaveLength(1_003);
});

test("incidents that close leave space for others of the site", async () => {
  const { registry, leftOut, openOf } = start();
  await registry.listed(hostile, rowsOf(1_500));
  const rows = rowsOf(1_500).map((row, at) => (at < 1_000 ? { ...row, status: "work" } : row));
  await registry.listed(hostile, rows);
  expect(openOf(hostile).map(({ mountPath }) => mountPath)).toEqual(
    rowsOf(1_500)
      .slice(1_000)
      .map((row) => row.mount_path),
  );
  await registry.listed(hostile, rowsOf(1_500));
  expect(openOf(hostile)).toHaveLength(1_000);
  expect(leftOut).toEqual([
    ["hostile", 500],
    ["hostile", 500],
  ]);
});

test("rows with one path have one incident, which closes with them", async () => {
  const { registry, openOf } = start();
  await registry.listed(hostile, [failing(1, "first"), failing(1, "second")]);
  expect(openOf(hostile).map(({ message }) => message)).toEqual(["first"]);
  await registry.listed(hostile, []);
  expect(await store.incidents.list({ open: true, limit: 10 })).toEqual([]);
});

test("a path with a NUL character is one mount", async () => {
  const { registry, openOf } = start();
  const row = { ...failing(1), mount_path: "/a\0/b" };
  await registry.listed(hostile, [row]);
  await registry.listed(hostile, [row]);
  expect(openOf(hostile)).toHaveLength(1);
});

test("other work of the process and of other sites continues during a long list", async () => {
  const { registry, openOf } = start();
  let ticks = 0;
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const tick = (): void => {
    ticks += 1;
    if (!isOver) setImmediate(tick);
  };
  tick();
  const long = registry.listed(hostile, rowsOf(10_000));
  await registry.listed(home, rowsOf(1));
  expect(openOf(home)).toHaveLength(1);
  await long;
  expect(ticks).toBeGreaterThan(5);
});
