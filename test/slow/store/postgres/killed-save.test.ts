import pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { writeFailure } from "../../../../src/database/error.ts";
import { failureOf, nameOf, opened, SOON, save } from "../../../store/postgres/opened.ts";
import { serverOfFile } from "../../../store/postgres/server.ts";
import { setting } from "../../../store/sample.ts";

const server = serverOfFile();

/** Ends the connection of a save that waits for something. */
async function endConnection(url: string, waitsFor: string): Promise<void> {
  const ended = () =>
    server().query(
      `select pg_terminate_backend(pid) as done from pg_stat_activity
        where datname = '${nameOf(url)}' and application_name = 'mooring' and ${waitsFor}`,
    );
  await vi.waitFor(async () => expect(await ended()).toEqual([{ done: true }]), SOON);
}

describe("a save whose connection is ended", () => {
  test("while it waits for another one's lock has an unknown outcome, and the next one works", async () => {
    const url = await server().newDatabase();
    const { store } = await opened(url);
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query("begin; select from head where id = 1 for update");
    const saving = failureOf(() => save(store, 1));
    await endConnection(url, "wait_event_type = 'Lock'");
    expect(await saving).toMatchObject({ failure: "unsure" });
    await other.query("rollback");
    expect(await store.load()).toEqual({ revision: 0, records: [] });
    await save(store, 1);
    expect(await store.load()).toMatchObject({ revision: 1 });
  });

  test("in the middle of a transaction with the lock leaves nothing, not even the lock", async () => {
    const url = await server().newDatabase();
    const { store } = await opened(url);
    const saving = failureOf(() =>
      store.transact(async (trx) => {
        // The read of other processes' changes is made with the lock.
        await trx.delta(0);
        await trx.write(setting(1, { a: "lost" }));
        await endConnection(url, "state = 'idle in transaction'");
        await trx.delta(0);
      }),
    );
    expect(await saving).toMatchObject({ failure: "unsure" });
    await save(store, 1, "kept");
    expect(await store.load()).toMatchObject({ revision: 1, records: [{ body: "kept" }] });
  });

  test("after its commit, while it waits for a standby, is not reported as unsaved", async () => {
    const url = await server().newDatabase();
    const { store } = await opened(url);
    const wait = async (names: string): Promise<void> => {
      await server().query(`alter system set synchronous_standby_names = '${names}'`);
      await server().query("select pg_reload_conf()");
      const shown = () => server().query("show synchronous_standby_names");
      await vi.waitFor(
        async () => expect(await shown()).toEqual([{ synchronous_standby_names: names }]),
        SOON,
      );
    };
    await wait("nobody");
    const saving = failureOf(() => save(store, 1));
    await endConnection(url, "wait_event = 'SyncRep'");
    const failure = await saving;
    await wait("");
    expect(failure.failure).toBe("unsure");
    expect(writeFailure(failure)).toMatchObject({
      message: expect.stringMatching(/^it is unknown whether this was saved/),
    });
    // It was saved.
    await vi.waitFor(() => expect(store.changedElsewhere()).toBe(true), SOON);
    expect(await store.delta(0)).toMatchObject({
      revision: 1,
      changed: [{ key: "a", body: "1" }],
    });
    await save(store, 2);
  });
});

describe("a save that the server refuses has the reason in one sentence, and the next one works", () => {
  test.each([
    ["53100", "full", /cannot grow, because its disk is full: free some space/],
    ["53200", "busy", /is out of memory: try again/],
    ["40P01", "busy", /had a conflict of two transactions: try again/],
    ["57014", "busy", /canceled the statement: try again/],
    ["XX001", "failed", /failed \(XX001: no\)/],
  ] as const)("with %s", async (code, kind, sentence) => {
    const url = await server().newDatabase();
    const { store } = await opened(url);
    await server().query(
      `create function refuse() returns trigger language plpgsql as
        $$ begin raise exception using errcode = '${code}', message = 'no'; end $$;
      create trigger refuse before insert on revision execute function refuse()`,
      nameOf(url),
    );
    const { failure, message } = await failureOf(() => save(store, 1));
    expect(failure).toBe(kind);
    expect(message).toMatch(sentence);
    await server().query("drop trigger refuse on revision", nameOf(url));
    await save(store, 1);
    expect(await store.load()).toMatchObject({ revision: 1 });
  });
});

test("revoked rights are named, reads continue, and all recovers with them", async () => {
  const url = await server().newDatabase();
  await server().query("create role app login");
  await server().query("grant create on schema public to app", nameOf(url));
  const { store, logged } = await opened(url.replace("mooring@", "app@"));
  await save(store, 1);
  await server().query("revoke insert on revision from app", nameOf(url));
  const { failure, message } = await failureOf(() => save(store, 2));
  expect(failure).toBe("unusable");
  expect(message).toBe(
    "the database the-place does not permit this operation to this user (permission denied for table revision): grant it all rights on Mooring's tables",
  );
  expect(await store.load()).toMatchObject({ revision: 1 });
  expect(logged).toEqual([]);
  await server().query("revoke select on head from app", nameOf(url));
  await vi.waitFor(
    () => expect(logged.join()).toMatch(/table head.*reads continue from memory/),
    SOON,
  );
  await server().query("grant insert on revision to app; grant select on head to app", nameOf(url));
  await vi.waitFor(() => expect(logged.at(-1)).toMatch(/is back/), SOON);
  await save(store, 2);
});
