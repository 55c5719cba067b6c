import { describe, expect, test } from "vitest";
import { postgresServer } from "../../../src/database/postgres/server.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { contentOf, makeDatabase } from "../../cli/database.ts";
import { run } from "../../cli/world.ts";
import { entry } from "../../store/audit-contract.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { serverOfFile } from "../../store/postgres/server.ts";
import { deleting, setting } from "../../store/sample.ts";

const newPath = temporaryPaths();
const ofSqlite = async (path: string) => contentOf(await openSqliteStore(path));

describe("database copy to a PostgreSQL server and back", () => {
  const server = serverOfFile();

  test("changes nothing, and saves continue afterwards", {
    timeout: 180_000,
  }, async () => {
    const [from, back, url] = [
      await makeDatabase(newPath(), 1_200),
      newPath(),
      await server().newDatabase(),
    ];
    expect(await run(["database", "copy", "--from", from, "--to", url])).toMatchObject({
      code: 0,
      err: "",
    });
    const original = await ofSqlite(from);
    const { revision } = original.state;
    const open = () => openPostgresStore(postgresServer(url, "test"));
    expect(await contentOf(await open())).toEqual(original);
    expect(await run(["database", "check", "--database", url])).toMatchObject({ code: 0 });
    await run(["database", "copy", "--from", url, "--to", back]);
    expect(await ofSqlite(back)).toEqual(original);
    const store = await open();
    await store.transact((trx) => trx.write(setting(revision + 1, { mine: "after" })));
    await store.transact((trx) => trx.write(deleting(revision + 2, ["mine"])));
    await store.audit.append([entry()]);
    await store.close();
    const database = url.split("/").at(-1);
    expect(await run(["database", "check", "--database", url])).toMatchObject({ code: 0 });
    await server().query("delete from audit where seq = (select max(seq) from audit)", database);
    const cut = await run(["database", "check", "--database", url]);
    expect(cut.err).toContain("the newest row of the audit is not the one that was written last");
    await server().query("update head set revision = 1", database);
    const { code, err } = await run(["database", "check", "--database", url]);
    expect(code).toBe(1);
    expect(err).toContain(
      `the head names revision 1, but the last revision of the history is ${revision + 2}`,
    );
  });
});
