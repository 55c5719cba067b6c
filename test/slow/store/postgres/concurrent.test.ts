import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { storedDelivery, storedWebhook } from "../../../incidents/store-contract.ts";
import { storedToken } from "../../../store/access-contract.ts";
import { nameOf, opened, SOON } from "../../../store/postgres/opened.ts";
import { serverOfFile } from "../../../store/postgres/server.ts";
import { storedSite } from "../../../store/site-contract.ts";

const server = serverOfFile();

/** A store, and a transaction of another instance on its database that ends when the test commits it. */
async function openedBesideTransaction() {
  const url = await server().newDatabase();
  const { store } = await opened(url);
  const other = new Client({ connectionString: url });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query("begin");
  const run = async (statement: string, ...values: readonly string[]) =>
    void (await other.query(statement, [...values]));
  const waits = `select from pg_stat_activity
    where datname = '${nameOf(url)}' and wait_event_type = 'Lock'`;
  const isWaiting = async () => (await server().query(waits)).length > 0;
  /** Commits when the work waits for a lock, or has ended without one. */
  const commitDuring = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false;
    const settled = work
      .catch(() => undefined)
      .then(() => {
        isDone = true;
      });
    await expect.poll(async () => isDone || (await isWaiting()), SOON).toBe(true);
    await run("commit");
    await settled;
    return work;
  };
  return { store, run, commitDuring, isWaiting };
}

test("ended tokens are recorded beside a change of the same tokens, in any order", async () => {
  const { store, run, commitDuring, isWaiting } = await openedBesideTransaction();
  const { access } = store;
  const ids = ["a", "b"];
  await access.transact((trx) =>
    trx.write({ tokens: ids.map((id) => ({ ...storedToken(id), expiresAt: 5 })), audit: [] }),
  );
  // As a change of tokens does: the head, then each token.
  await run("update access_head set version = version + 1");
  await run("update access_token set comment = 'new' where id = 'b'");
  const counted = access.countEnded(10, 1_000);
  await expect.poll(isWaiting, SOON).toBe(true);
  await run("update access_token set comment = 'new' where id = 'a'");
  expect(await commitDuring(counted)).toBe(1_000);
  const ended = await access.transact((trx) => trx.endedBefore(2_000, 9));
  expect(ended.map(({ id }) => id).sort()).toEqual(ids);
});

describe("a site", () => {
  test.each(["name", "address"])(
    "whose new %s another instance takes meanwhile is not changed",
    async (column) => {
      const { store, run, commitDuring } = await openedBesideTransaction();
      const [home, away] = [storedSite("a"), storedSite("b")];
      for (const site of [home, away]) await store.sites.insert(site, []);
      await run("update site set name = name where id = 'b'");
      await run(`update site set ${column} = 'new' where id = 'b'`);
      const renamed = store.sites.update({ ...home, [column]: "new" }, [], home);
      expect(await commitDuring(renamed)).toBe(false);
      expect(await store.sites.list()).toContainEqual(home);
    },
  );

  test("whose new name an added site takes meanwhile is not changed", async () => {
    const { store, run, commitDuring } = await openedBesideTransaction();
    const home = storedSite("a");
    await store.sites.insert(home, []);
    await run(
      "insert into site select 'b', 'new', url, 'b', token, ca, pin, mode, include, exclude, overrides, paused, restoring, upstream, created from site",
    );
    const renamed = store.sites.update({ ...home, name: "new" }, [], home);
    expect(await commitDuring(renamed)).toBe(false);
  });

  test("that another instance deletes at the end of a round keeps neither state nor log", async () => {
    const { store, run, commitDuring } = await openedBesideTransaction();
    await store.sites.insert(storedSite("a"), []);
    for (const [table, column] of [
      ["site", "id"],
      ["site_state", "site_id"],
      ["site_log", "site_id"],
    ])
      await run(`delete from ${table} where ${column} = 'a'`);
    const event = { time: 5, actor: "", action: "push", revision: 7, keys: [], result: "" };
    const state = { siteId: "a", version: 0, appliedRevision: 7, state: "{}" };
    const recorded = store.sites.record([{ state, events: [event], audit: [] }]);
    expect(await commitDuring(recorded)).toEqual([undefined]);
    expect([await store.sites.states(), await store.sites.log("a", { limit: 9 })]).toEqual([
      [],
      [],
    ]);
  });

  test("that another instance deletes keeps no state of a mount", async () => {
    const { store, run, commitDuring } = await openedBesideTransaction();
    await store.sites.insert(storedSite("a"), []);
    await run("delete from site where id = 'a'");
    await run("delete from record_state where site_id = 'a'");
    await commitDuring(store.mountStates.write([{ siteId: "a", name: "m", state: "{}" }]));
    expect(await store.mountStates.list()).toEqual([]);
  });
});

describe("a webhook", () => {
  test("whose new name another instance takes meanwhile is not changed", async () => {
    const { store, run, commitDuring } = await openedBesideTransaction();
    const { incidents } = store;
    const chat = storedWebhook("a");
    for (const webhook of [chat, storedWebhook("b")])
      await incidents.putWebhook(webhook, { before: undefined, audit: [] });
    await run("update webhook set name = 'new' where id = 'b'");
    const renamed = incidents.putWebhook({ ...chat, name: "new" }, { before: chat, audit: [] });
    expect(await commitDuring(renamed)).toBe("taken");
    expect(await incidents.webhooks()).toContainEqual(chat);
  });

  test("that another instance deletes keeps no new delivery", async () => {
    const { store, run, commitDuring } = await openedBesideTransaction();
    const { incidents } = store;
    await incidents.putWebhook(storedWebhook("w"), { before: undefined, audit: [] });
    await run("delete from webhook_delivery where webhook_id = 'w'");
    await run("delete from webhook where id = 'w'");
    await commitDuring(incidents.write([], [storedDelivery("a")]));
    expect(await incidents.deliveries("w", 9)).toEqual([]);
  });

  test("counts an attempt that another instance stores meanwhile", async () => {
    const { store, run, commitDuring } = await openedBesideTransaction();
    const { incidents } = store;
    await incidents.putWebhook(storedWebhook("w"), { before: undefined, audit: [] });
    await incidents.write([], [storedDelivery("a")]);
    await run("select from webhook where id = 'w' for update");
    await run("update webhook_delivery set attempts = attempts + 1 where id = 'a'");
    const counted = incidents.changeDelivery(storedDelivery("a"), (stored) => ({
      ...stored,
      attempts: stored.attempts + 1,
    }));
    expect(await commitDuring(counted)).toMatchObject({ attempts: 2 });
  });
});
