import SQLite from "better-sqlite3";
import { Kysely } from "kysely";
import type { Database } from "../../../src/database/schema.ts";
import { createSqliteDialect } from "../../../src/database/sqlite/dialect.ts";
import { openSqlite } from "../../../src/database/sqlite/open.ts";
import { migrations } from "../../../src/store/sqlite/migration.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { describeIncidentStore } from "../../incidents/store-contract.ts";
import { describeAccessStore } from "../access-contract.ts";
import { describeAudit } from "../audit-contract.ts";
import { temporaryPaths } from "../folder.ts";
import { describeMigrations } from "../migration-contract.ts";
import { describeSiteStore } from "../site-contract.ts";

const newPath = temporaryPaths();

const newPlace = async () => {
  const path = newPath();
  return {
    open: () => openSqliteStore(path),
    run: async (statements: string) => {
      const database = new SQLite(path);
      database.exec(statements);
      database.close();
    },
    use: async (work: (db: Kysely<Database>) => Promise<void>) => {
      const db = new Kysely<Database>({ dialect: createSqliteDialect(await openSqlite(path)) });
      await work(db);
      await db.destroy();
    },
    remove: async () => undefined,
  };
};

describeSiteStore("the store of sites on SQLite", newPlace);
describeIncidentStore("the store of incidents on SQLite", newPlace);
describeAudit("the audit on SQLite", newPlace);
describeAccessStore("the store of tokens on SQLite", newPlace);
describeMigrations("an older database on SQLite", migrations, newPlace);
