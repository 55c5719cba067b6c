import { afterEach, beforeEach, expect, test } from "vitest";
import type { RecordStateStore } from "../../../src/sync/record-state-store.ts";
import { LeaseLost } from "../../../src/sync/record-sync.ts";
import { startedForEach } from "../../started.ts";
import { type Desk, driverByName, memoryStore, mount, openDesk, writes } from "./desk.ts";
import { startStorages } from "./stand-in.ts";

const site = startedForEach(() => startStorages(driverByName));
let desk: Desk;
let store: RecordStateStore;
let time = 1_000_000;
let mayWrite = true;

const NO_FOLDER = "root folder /srv/films not exists";

beforeEach(async () => {
  mayWrite = true;
  store = memoryStore();
  desk = await openDesk(site, { store, now: () => time, mayWrite: () => mayWrite });
  site.providers.set("Local", () => {
    throw new Error(NO_FOLDER);
  });
  desk.wanted = [mount()];
  await desk.round();
  expect(desk.state()).toMatchObject({ status: NO_FOLDER, error: "", differs: [], phase: "" });
});

afterEach(() => desk.close());

test("a failing mount without differences is disabled and enabled on request, in one attempt", async () => {
  const before = writes(site).length;
  site.providers.clear();
  await desk.round({ forced: ["films"] });
  expect(writes(site).slice(before)).toEqual(["disable", "enable"]);
  expect(desk.state()).toMatchObject({ status: "work", error: "", phase: "", applied: 1 });
});

test("an attempt that fails again is one attempt, and is no error of the write", async () => {
  const mounts = site.mounts.get("/films") ?? 0;
  await desk.round({ forced: ["films"] });
  expect(site.mounts.get("/films")).toBe(mounts + 1);
  expect(desk.state()).toMatchObject({ status: NO_FOLDER, error: "", differs: [] });
});

test("a mount of an observed site is mounted again by a request for this mount only", async () => {
  const before = writes(site).length;
  await desk.round({ aim: "read", forced: ["films"] });
  expect(writes(site).slice(before)).toEqual([]);
});

test("a failing mount that also differs is updated on the way, and mounted one time", async () => {
  const before = writes(site).length;
  site.providers.clear();
  desk.wanted = [mount({ revision: 2, members: { remark: "new" } })];
  await desk.round({ forced: ["films"] });
  expect(writes(site).slice(before)).toEqual(["disable", "update", "enable"]);
  expect(site.row("/films")).toMatchObject({ remark: "new", status: "work" });
});

test("a failing row that is not in the server's memory is disabled by an update, after its time", async () => {
  const before = writes(site).length;
  site.live.delete("/films");
  site.providers.clear();
  await desk.round({ forced: ["films"] });
  expect(writes(site).slice(before)).toEqual(["disable"]);
  time += 131_000;
  await desk.round({ forced: ["films"] });
  expect(site.row("/films")).toMatchObject({ status: "work", disabled: false });
  expect(site.live.has("/films")).toBe(true);
});

test("a mount that the server can't stop stays, and says so", async () => {
  site.dropFails.add("Local");
  await desk.round({ forced: ["films"] });
  expect(site.row("/films")).toMatchObject({ disabled: false, status: NO_FOLDER });
  expect(String(desk.state()?.error)).toContain("drop");
});

test("a process that ends between disabling and enabling leaves the rest to the next round", async () => {
  site.hold = (stage) => {
    if (stage.endsWith("/disable")) mayWrite = false;
  };
  site.providers.clear();
  // The lease is lost before the state after the call is stored.
  await desk.round({ forced: ["films"] }).catch((error: unknown) => {
    if (!(error instanceof LeaseLost)) throw error;
  });
  site.hold = undefined;
  mayWrite = true;
  desk.close();
  desk = await openDesk(site, { store, now: () => time });
  desk.wanted = [mount()];
  await desk.round();
  expect(site.row("/films")).toMatchObject({ disabled: false, status: "work" });
});

test("a failure that was stored while the clock was ahead is tried again within an hour", async () => {
  site.providers.clear();
  site.hold = (stage) => {
    if (stage.endsWith("/update") || stage.endsWith("/disable")) throw new Error("broken");
  };
  time += 86_400_000;
  desk.wanted = [mount({ revision: 2, members: { remark: "new" } })];
  await desk.round().catch(() => undefined);
  site.hold = undefined;
  site.dropFails.add("Local");
  await desk.round();
  expect(desk.state()?.nextTry).toBeGreaterThan(time);
  site.dropFails.clear();
  time -= 86_400_000;
  await desk.round();
  expect(site.row("/films")?.remark).toBe("new");
});

test("a mount that was starting while the clock was ahead is repaired, not awaited for a day", async () => {
  site.providers.clear();
  await desk.round({ forced: ["films"] });
  time += 86_400_000;
  site.edit("/films", { status: "disabled" });
  site.live.delete("/films");
  await desk.round();
  time -= 86_400_000;
  await desk.round();
  expect(site.row("/films")?.status).toBe("work");
});
