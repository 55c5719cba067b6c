import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";

import { failureOf, nameOf, opened, SOON, save } from "../../../store/postgres/opened.ts";
import { serverOfFile, standbyOfTest } from "../../../store/postgres/server.ts";
import { openSwitch } from "../../../store/postgres/switch.ts";

const server = serverOfFile();

test("a renewal with a slow reply does not hide changes made in between", async () => {
  const url = await server().newDatabase();
  const address = await openSwitch(server().port);
  const through = url.replace(`:${server().port}/`, `:${address.port}/`);
  // It gets no notifications: it polls.
  address.silence("listen ");
  const slow = await opened(through);
  const [row] = await server().query("select id from instance", nameOf(url));
  const other = await opened(url);
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query("begin");
  await holder.query("select from instance where id = $1 for update", [row?.["id"]]);
  const renewing = () =>
    server().query(
      `select from pg_stat_activity where datname = '${nameOf(url)}'
        and wait_event_type = 'Lock' and query like 'with renewed%'`,
    );
  const lease = async (): Promise<unknown> => {
    const own = `select lease_until from instance where id = '${row?.["id"]}'`;
    const [found] = await server().query(own, nameOf(url));
    return found?.["lease_until"];
  };
  await vi.waitFor(async () => expect(await renewing()).toHaveLength(1), SOON);
  await save(other.store, 1);
  await other.store.seenEverywhere(1);
  // From here on the slow instance must not report that nothing has changed.
  const answers: boolean[] = [];
  const polling = setInterval(() => answers.push(slow.store.changedElsewhere()), 1);
  await holder.query("rollback");
  // A renewal begins after the reply to the one before was used.
  for (let renewals = 0; renewals < 2; renewals += 1) {
    const before = await lease();
    await vi.waitFor(async () => expect(await lease()).not.toEqual(before), SOON);
  }
  clearInterval(polling);
  expect(new Set(answers)).toEqual(new Set([true]));
});

test("an instance whose address leads to a standby does not serve from its state", async () => {
  const { primary, standby } = await standbyOfTest();
  const address = await openSwitch(primary.port);
  const { store } = await opened(`postgres://mooring@127.0.0.1:${address.port}/postgres`);
  const other = await opened(primary.url());
  address.to(standby.port);
  await save(other.store, 1);
  await other.store.seenEverywhere(1);
  expect(store.changedElsewhere()).toBe(true);
  for (const read of [() => store.delta(0), () => store.load(), () => store.access.news(0)])
    expect(await failureOf(read)).toMatchObject({
      failure: "unsure",
      message: expect.stringMatching(/is a read-only standby|did not answer/),
    });
  address.to(primary.port);
  await vi.waitFor(async () => expect(await store.delta(0)).toMatchObject({ revision: 1 }), SOON);
});

test("an instance without a connection does not serve from memory while others commit", async () => {
  const url = await server().newDatabase();
  await server().query("create role few login");
  await server().query("grant create on schema public to few", nameOf(url));
  const { store } = await opened(url.replace("mooring@", "few@"));
  await server().query("alter role few connection limit 0");
  await server().query(
    "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'few'",
  );
  await vi.waitFor(() => expect(store.changedElsewhere()).toBe(true), SOON);
  await vi.waitFor(async () => {
    expect(await failureOf(() => store.delta(0))).toMatchObject({
      failure: "unsure",
      message: expect.stringMatching(/has no connection left/),
    });
  }, SOON);
  await server().query("alter role few connection limit -1");
  await vi.waitFor(() => store.delta(0), SOON);
});
