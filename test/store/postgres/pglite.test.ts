import { PGlite } from "@electric-sql/pglite";
import { afterAll } from "vitest";
import { openPostgresSettingStore } from "../../../src/store/postgres/store.ts";
import { describeAudit } from "../audit-contract.ts";
import { describeSettingStore } from "../contract.ts";
import { describeSiteStore } from "../site-contract.ts";
import { serverOf } from "./pglite.ts";

/** Databases that no test uses at the moment: one takes a second to make. */
const free: PGlite[] = [];
afterAll(() => Promise.all(free.map((database) => database.close())));

const newPlace = async () => {
  const database = free.pop() ?? (await PGlite.create());
  return {
    open: () => openPostgresSettingStore(serverOf(database)),
    run: (statements: string) => database.exec(statements),
    remove: async () => {
      await database.exec("drop schema public cascade; create schema public");
      free.push(database);
    },
  };
};

describeSettingStore("the setting store on PostgreSQL in this process", newPlace);
describeAudit("the audit on PostgreSQL in this process", newPlace);
describeSiteStore("the store of sites on PostgreSQL in this process", newPlace);
