import SQLite from "better-sqlite3";
import { openSqliteSettingStore } from "../../../src/store/sqlite/store.ts";
import { describeIncidentStore } from "../../incidents/store-contract.ts";
import { describeAudit } from "../audit-contract.ts";
import { temporaryPaths } from "../folder.ts";
import { describeSiteStore } from "../site-contract.ts";

const newPath = temporaryPaths();

const newPlace = async () => {
  const path = newPath();
  return {
    open: () => openSqliteSettingStore(path),
    run: async (statements: string) => {
      const database = new SQLite(path);
      database.exec(statements);
      database.close();
    },
    remove: async () => undefined,
  };
};

describeSiteStore("the store of sites on SQLite", newPlace);
describeIncidentStore("the store of incidents on SQLite", newPlace);
describeAudit("the audit on SQLite", newPlace);
