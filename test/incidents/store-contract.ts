import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type {
  IncidentStore,
  StoredDelivery,
  StoredIncident,
  StoredWebhook,
} from "../../src/incidents/store.ts";
import { testDayStore } from "./days/store-contract.ts";

/** Place of a database. */
export interface IncidentPlace {
  open(): Promise<{ readonly incidents: IncidentStore; close(): Promise<void> }>;
  remove(): Promise<void>;
}

export const storedIncident = (
  id: string,
  changes: Partial<StoredIncident> = {},
): StoredIncident => ({
  id,
  subject: "mount",
  name: "",
  siteId: "s",
  mountPath: `/${id}`,
  driver: "S3",
  class: "credential",
  source: "status",
  message: "no",
  openedAt: 10,
  changedAt: 10,
  closedAt: 0,
  acknowledgedAt: 0,
  acknowledgedBy: "",
  note: "",
  signals: {},
  ...changes,
});

export const storedWebhook = (id: string, changes: Partial<StoredWebhook> = {}): StoredWebhook => ({
  id,
  name: `name ${id}`,
  format: "standard",
  options: "{}",
  url: "u",
  secret: "s",
  classes: '["quota"]',
  sites: "[]",
  language: "en",
  disabled: false,
  createdAt: 5,
  createdBy: "admin",
  ...changes,
});

export const storedDelivery = (
  id: string,
  changes: Partial<StoredDelivery> = {},
): StoredDelivery => ({
  id,
  webhookId: "w",
  incidentId: "i",
  type: "incident.opened",
  cause: "",
  body: "{}",
  createdAt: 7,
  state: "waiting",
  attempts: 0,
  nextTry: 7,
  status: 0,
  error: "",
  ...changes,
});

/** Contract of every store of incidents. */
export function describeIncidentStore(name: string, newPlace: () => Promise<IncidentPlace>): void {
  describe(name, () => {
    let place: IncidentPlace;
    let opened: Awaited<ReturnType<IncidentPlace["open"]>>;
    let store: IncidentStore;

    beforeEach(async () => {
      place = await newPlace();
      opened = await place.open();
      store = opened.incidents;
    });

    afterEach(async () => {
      await opened.close();
      await place.remove();
    });

    test("incidents are read as written, newest first, by site, mount and state", async () => {
      const signals = { status: { class: "quota", message: "m", count: 2, countedAt: 3 } } as const;
      const all = [
        storedIncident("a", { openedAt: 1, signals }),
        storedIncident("b", { openedAt: 3, siteId: "t" }),
        storedIncident("c", { openedAt: 2, closedAt: 9 }),
        storedIncident("d", { openedAt: 2 }),
      ] as const;
      await store.write(all, []);
      expect(await store.list({ limit: 10 })).toEqual([all[1], all[3], all[2], all[0]]);
      expect(await store.get("a")).toEqual(all[0]);
      expect(await store.get("x")).toBeUndefined();
      const ids = async (filter: object) =>
        (await store.list({ limit: 10, ...filter })).map(({ id }) => id);
      expect(await ids({ siteId: "t" })).toEqual(["b"]);
      expect(await ids({ mountPath: "/d" })).toEqual(["d"]);
      expect(await ids({ open: true })).toEqual(["b", "d", "a"]);
      expect(await ids({ open: false })).toEqual(["c"]);
      expect(await ids({ limit: 2 })).toEqual(["b", "d"]);
      expect(await ids({ before: { openedAt: 2, id: "d" } })).toEqual(["c", "a"]);
    });

    test("incidents that were open in a period are read, from its first to before its last moment", async () => {
      await store.write(
        [
          storedIncident("before", { openedAt: 1, closedAt: 9 }),
          storedIncident("ends", { openedAt: 2, closedAt: 10 }),
          storedIncident("within", { openedAt: 12, closedAt: 14 }),
          storedIncident("around", { openedAt: 3, closedAt: 30 }),
          storedIncident("open", { openedAt: 4 }),
          storedIncident("last", { openedAt: 19 }),
          storedIncident("after", { openedAt: 20 }),
        ],
        [],
      );
      const during = { from: 10, to: 20 };
      const ids = (await store.list({ during, limit: 10 })).map(({ id }) => id);
      expect(ids).toEqual(["last", "within", "open", "around", "ends"]);
      const open = await store.list({ during, open: true, limit: 10 });
      expect(open.map(({ id }) => id)).toEqual(["last", "open"]);
    });

    testDayStore(() => store.days);

    test("an acknowledgement is kept when sites report again", async () => {
      await store.write([storedIncident("a")], []);
      const noted = { acknowledgedAt: 20, acknowledgedBy: "ann", note: "on it" };
      await store.acknowledge({ ...storedIncident("a"), ...noted, message: "stale" }, [], []);
      await store.write([storedIncident("a", { message: "again", changedAt: 30 })], []);
      expect(await store.get("a")).toEqual(
        storedIncident("a", { message: "again", changedAt: 30, ...noted }),
      );
    });

    test("one of several webhooks that are added at the same time gets a name", async () => {
      const added = Array.from({ length: 20 }, (_, at) =>
        store.putWebhook(storedWebhook(`w${at}`, { name: "chat" }), {
          before: undefined,
          audit: [],
        }),
      );
      const results = await Promise.all(added);
      expect(results.filter((result) => result === "stored")).toHaveLength(1);
      expect(results.filter((result) => result === "taken")).toHaveLength(19);
    });

    test("webhooks are ordered by name, and names are unique", async () => {
      const put = (row: StoredWebhook, before?: StoredWebhook) =>
        store.putWebhook(row, { before, audit: [] });
      const b = storedWebhook("b", { disabled: true });
      expect(await put(b)).toBe("stored");
      expect(await put(storedWebhook("a"))).toBe("stored");
      expect(await put(storedWebhook("c", { name: "name a" }))).toBe("taken");
      expect(await put({ ...b, name: "name a" }, b)).toBe("taken");
      expect(await put(storedWebhook("a", { language: "zh-CN" }), storedWebhook("a"))).toBe(
        "stored",
      );
      // Another call has changed it in between.
      expect(await put(storedWebhook("a", { disabled: true }), storedWebhook("a"))).toBe("changed");
      // A webhook deleted in between is not restored.
      expect(await put(storedWebhook("gone"), storedWebhook("gone"))).toBe("gone");
      expect(await store.webhooks()).toEqual([
        storedWebhook("a", { language: "zh-CN" }),
        storedWebhook("b", { disabled: true }),
      ]);
    });

    test("due deliveries are ordered oldest first, and are deleted with their webhook", async () => {
      await store.putWebhook(storedWebhook("w"), { before: undefined, audit: [] });
      const all = [
        storedDelivery("a", { nextTry: 9 }),
        storedDelivery("b", { nextTry: 8 }),
        storedDelivery("c", { nextTry: 20 }),
        storedDelivery("d", { state: "failed", nextTry: 0, createdAt: 8 }),
      ];
      await store.write([], all);
      expect((await store.due(10, [])).map(({ id }) => id)).toEqual(["b"]);
      expect(await store.due(7, [])).toEqual([]);
      // Stored while the clock was ahead: later than the longest pause after its attempts.
      expect((await store.due(7, [0])).map(({ id }) => id)).toEqual(["b"]);
      expect((await store.due(7, [12])).map(({ id }) => id)).toEqual(["c"]);
      expect(await store.due(7, [13])).toEqual([]);
      const listed = await store.deliveries("w", 9);
      expect(listed.map(({ id }) => id)).toEqual(["d", "c", "b", "a"]);
      const rest = await store.deliveries("w", 9, { createdAt: 7, id: "c" });
      expect(rest.map(({ id }) => id)).toEqual(["b", "a"]);
      expect(await store.delivery("c")).toEqual(all[2]);
      const deliver = (read: StoredDelivery) =>
        store.changeDelivery(read, (stored) => ({
          ...stored,
          state: "delivered",
          attempts: stored.attempts + 1,
          nextTry: 0,
        }));
      expect(await deliver(storedDelivery("a"))).toMatchObject({ attempts: 1 });
      // The stored attempts are counted, not those that were read.
      expect(await deliver(storedDelivery("a"))).toMatchObject({ attempts: 2 });
      expect(await store.delivery("a")).toMatchObject({ state: "delivered", attempts: 2 });
      await store.deleteWebhook("w", []);
      expect(await store.deliveries("w", 9)).toEqual([]);
      await deliver(storedDelivery("a"));
      await store.write([], [storedDelivery("e")]);
      for (const id of ["a", "e"]) expect(await store.delivery(id)).toBeUndefined();
    });

    test("the first due delivery of each webhook is returned, for any backlog of another webhook", async () => {
      for (const id of ["v", "w"])
        await store.putWebhook(storedWebhook(id), { before: undefined, audit: [] });
      const backlog = Array.from({ length: 300 }, (_, at) =>
        storedDelivery(`w${at}`, { nextTry: 2 }),
      );
      await store.write([], [...backlog, storedDelivery("late", { webhookId: "v", nextTry: 9 })]);
      expect((await store.due(10, [])).map(({ id }) => id)).toEqual(["w0", "late"]);
      for (const id of ["v", "w"]) await store.deleteWebhook(id, []);
    });

    test("closed incidents and finished deliveries are deleted, and no others", async () => {
      await store.putWebhook(storedWebhook("w"), { before: undefined, audit: [] });
      await store.write(
        [
          storedIncident("a"),
          storedIncident("b", { closedAt: 50 }),
          storedIncident("c", { closedAt: 150 }),
        ],
        [
          storedDelivery("a", { createdAt: 50 }),
          storedDelivery("b", { createdAt: 50, state: "delivered" }),
          storedDelivery("c", { createdAt: 150, state: "failed" }),
        ],
      );
      await store.forget(100);
      expect((await store.list({ limit: 9 })).map(({ id }) => id)).toEqual(["c", "a"]);
      expect((await store.deliveries("w", 9)).map(({ id }) => id)).toEqual(["c", "a"]);
    });
  });
}
