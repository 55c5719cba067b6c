import pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../../../bench/port.ts";
import { migrations } from "../../../../src/store/postgres/migration.ts";
import { failureOf, nameOf, opened, SOON } from "../../../store/postgres/opened.ts";
import { serverOfFile } from "../../../store/postgres/server.ts";

const server = serverOfFile();

describe("opening a database reports in one sentence", () => {
  const refusal = (url: string) => failureOf(() => opened(url));

  test("a refused connection", async () => {
    const { failure, message } = await refusal(
      `postgres://u:pw-secret@127.0.0.1:${await freePort()}/x`,
    );
    expect(failure).toBe("away");
    expect(message).toBe(
      "the database the-place does not answer: start it, or correct MOORING_DATABASE_URL",
    );
  });

  test("a missing database", async () => {
    expect((await refusal(server().url("nowhere"))).message).toMatch(
      /has no database of that name/,
    );
  });

  test("a user who may not create tables", async () => {
    const url = await server().newDatabase();
    await server().query("create role guest login");
    expect((await refusal(url.replace("mooring@", "guest@"))).message).toMatch(
      /does not permit this operation to this user: grant it CREATE on the schema/,
    );
  });

  test("a database of a newer Mooring, and changes nothing", async () => {
    const url = await server().newDatabase();
    const name = url.split("/").at(-1) ?? "";
    await (await opened(url)).store.close();
    await server().query("insert into migration values ('9999_future', '2099-01-01')", name);
    const { failure, message } = await refusal(url);
    expect(failure).toBe("unusable");
    expect(message).toMatch(/was written by a newer Mooring than this one/);
  });

  test("a user who may not read its tables", async () => {
    const url = await server().newDatabase();
    await (await opened(url)).store.close();
    await server().query("create role stranger login");
    expect((await refusal(url.replace("mooring@", "stranger@"))).message).toMatch(
      /does not permit this operation to this user \(permission denied for table migration_lock\): grant it all rights/,
    );
  });

  test("another encoding than UTF-8, which could not store every text", async () => {
    await server().query("create database latin encoding 'LATIN1' locale 'C' template template0");
    const { failure, message } = await refusal(server().url("latin"));
    expect(failure).toBe("unusable");
    expect(message).toMatch(/has the encoding LATIN1: create one with UTF8/);
  });

  test("tables of another program, and changes nothing", async () => {
    const url = await server().newDatabase();
    await server().query("create table record (theirs int)", nameOf(url));
    const { failure, message } = await refusal(url);
    expect(failure).toBe("unusable");
    expect(message).toMatch(
      /has tables of another program \(.*"record".*\): create a database for Mooring/,
    );
    const tables = await server().query(
      "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
      nameOf(url),
    );
    expect(tables).toEqual([{ relname: "record" }]);
  });

  test.each(["sslrootcert", "sslcert", "sslkey"])("a missing file of %s", async (name) => {
    const { failure, message } = await refusal(`${server().url()}?${name}=/nowhere.pem`);
    expect(failure).toBe("unusable");
    expect(message).toMatch(/a file that the URL .* names cannot be read \(.*\/nowhere.pem/);
  });

  test("a server without free connections", async () => {
    const url = await server().newDatabase();
    await server().query("create role few login connection limit 0");
    await server().query(`grant all on schema public to few`, nameOf(url));
    const { failure, message } = await refusal(url.replace("mooring@", "few@"));
    expect(failure).toBe("busy");
    expect(message).toMatch(/has no connection left: raise its max_connections/);
  });

  test("a standby", { timeout: 60_000 }, async () => {
    const standby = await server().standby();
    onTestFinished(() => standby.remove());
    expect((await refusal(standby.url())).message).toMatch(
      /is a read-only standby: MOORING_DATABASE_URL must name the primary/,
    );
  });
});

test("an empty database is migrated once by instances that start together, for any duration", async () => {
  const url = await server().newDatabase();
  // Another session delays the creation of tables for longer than a save may wait.
  const reader = new pg.Client({ connectionString: url });
  await reader.connect();
  onTestFinished(() => reader.end());
  await reader.query("begin; lock table pg_class in share mode");
  const opening = [opened(url), opened(url), opened(url)];
  for (const one of opening) one.catch(() => undefined);
  const waitLong = async () => {
    const rows = await server().query(
      `select from pg_stat_activity where datname = '${nameOf(url)}' and wait_event_type = 'Lock'
        and clock_timestamp() - query_start > interval '3.5 s'`,
    );
    expect(rows).toHaveLength(3);
  };
  await vi.waitFor(waitLong, SOON);
  await reader.query("commit");
  const stores = await Promise.all(opening);
  const logged = stores.flatMap((one) => one.logged);
  expect(
    logged.filter((line) => /^info: another instance is migrating the database/.test(line)),
  ).toHaveLength(2);
  const steps = await server().query("select name from migration order by name", nameOf(url));
  expect(steps.map(({ name }) => name)).toEqual(Object.keys(migrations));
});
