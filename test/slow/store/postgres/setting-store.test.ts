import type { PGlite } from "@electric-sql/pglite";
import { Kysely, PGliteDialect } from "kysely";
import { Client } from "pg";
import { afterAll, beforeAll } from "vitest";
import { postgresServer } from "../../../../src/database/postgres/server.ts";
import type { Database } from "../../../../src/database/schema.ts";
import { migrations } from "../../../../src/store/postgres/migration.ts";
import { openPostgresStore } from "../../../../src/store/postgres/store.ts";
import { needs } from "../../../downloaders/program.ts";
import { describeIncidentStore } from "../../../incidents/store-contract.ts";
import { describeAccessStore } from "../../../store/access-contract.ts";
import { describeAudit } from "../../../store/audit-contract.ts";
import { describeSettingStore } from "../../../store/contract.ts";
import { describeMigrations } from "../../../store/migration-contract.ts";
import { serverOf } from "../../../store/postgres/pglite.ts";
import {
  hasPostgres,
  postgresProgram,
  startPostgres,
  type TestServer,
} from "../../../store/postgres/server.ts";
import { describeSiteStore } from "../../../store/site-contract.ts";

// On a server, or in this process if none is installed and none is required.
needs(postgresProgram("postgres"));

let server: TestServer | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres();
});
afterAll(() => server?.remove());

const onServer = async () => {
  const url = (await server?.newDatabase()) ?? "";
  return {
    open: () => openPostgresStore(postgresServer(url, "test")),
    run: async (statements: string) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(statements);
      await client.end();
    },
    use: async (work: (db: Kysely<Database>) => Promise<void>) => {
      const db = new Kysely<Database>({ dialect: postgresServer(url, "test").dialect });
      await work(db);
      await db.destroy();
    },
    remove: async () => undefined,
  };
};

/** Databases that no test uses at the moment: creating one takes a second. */
const free: PGlite[] = [];
afterAll(() => Promise.all(free.map((database) => database.close())));

const inProcess = async () => {
  const { PGlite } = await import("@electric-sql/pglite");
  const database = free.pop() ?? (await PGlite.create());
  return {
    open: () => openPostgresStore(serverOf(database)),
    run: async (statements: string) => {
      await database.exec(statements);
    },
    use: (work: (db: Kysely<Database>) => Promise<void>) =>
      work(new Kysely({ dialect: new PGliteDialect({ pglite: database }) })),
    remove: async () => {
      await database.exec("drop schema public cascade; create schema public");
      free.push(database);
    },
  };
};

const newPlace = hasPostgres ? onServer : inProcess;
describeSettingStore("the setting store on PostgreSQL", newPlace);
describeAudit("the audit on PostgreSQL", newPlace);
describeSiteStore("the store of sites on PostgreSQL", newPlace);
describeIncidentStore("the store of incidents on PostgreSQL", newPlace);
describeAccessStore("the store of tokens on PostgreSQL", newPlace);
describeMigrations("an older database on PostgreSQL", migrations, newPlace);
