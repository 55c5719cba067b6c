import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import { postgresServer } from "../../../src/database/postgres/server.ts";
import { openPostgresSettingStore } from "../../../src/store/postgres/store.ts";
import { needs } from "../../downloader/program.ts";
import { describeAudit } from "../audit-contract.ts";
import { describeSettingStore } from "../contract.ts";
import { describeSiteStore } from "../site-contract.ts";
import { hasPostgres, postgresProgram, startPostgres, type TestServer } from "./server.ts";

describe("on a server", () => {
  const isThere = needs(postgresProgram("postgres"));
  let server: TestServer | undefined;
  beforeAll(async () => {
    if (hasPostgres) server = await startPostgres();
  });
  beforeEach((context) => isThere(context));
  afterAll(() => server?.remove());

  const newPlace = async () => {
    const url = (await server?.newDatabase()) ?? "";
    return {
      open: () => openPostgresSettingStore(postgresServer(url, "test")),
      run: async (statements: string) => {
        const client = new Client({ connectionString: url });
        await client.connect();
        await client.query(statements);
        await client.end();
      },
      remove: async () => undefined,
    };
  };
  describeSettingStore("the setting store on PostgreSQL", newPlace);
  describeAudit("the audit on PostgreSQL", newPlace);
  describeSiteStore("the store of sites on PostgreSQL", newPlace);
});
