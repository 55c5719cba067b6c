import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import SQLite from "better-sqlite3";
import { describe } from "vitest";
import { copyRows } from "../../src/store/copy.ts";
import { openSqliteDatabase } from "../../src/store/sqlite/database.ts";
import { newDatabaseFolder } from "../store/folder.ts";
import { describeRestored, serviceWith } from "./restored.ts";

const NAME = "mooring.db";

type Copy = (from: string, to: string) => Promise<void>;

const copies: Readonly<Record<string, Copy>> = {
  "a copy of the folder": (from, to) => cp(from, to, { recursive: true }),
  "a backup by SQLite": async (from, to) => {
    await cp(from, to, { recursive: true });
    await rm(join(to, NAME), { force: true });
    const database = new SQLite(join(from, NAME));
    await database.backup(join(to, NAME));
    database.close();
    for (const rest of ["-wal", "-shm"]) await rm(join(to, NAME + rest), { force: true });
  },
  "mooring database copy": async (from, to) => {
    await cp(from, to, { recursive: true });
    for (const rest of ["", "-wal", "-shm"]) await rm(join(to, NAME + rest), { force: true });
    const source = await openSqliteDatabase(join(from, NAME));
    const target = await openSqliteDatabase(join(to, NAME));
    try {
      await copyRows(source, target, { isDry: false, onProgress: () => undefined });
    } finally {
      await source.close();
      await target.close();
    }
  },
};

describe.each(Object.entries(copies))("SQLite, restored from %s", (name, copy) => {
  const opened = async (ending: AsyncDisposableStack) => {
    const folder = newDatabaseFolder();
    const kept = `${folder}-copy`;
    ending.defer(async () => {
      for (const each of [folder, kept]) await rm(each, { recursive: true, force: true });
    });
    return {
      start: () => serviceWith(folder),
      copy: () => copy(folder, kept),
      putBack: async () => {
        await rm(folder, { recursive: true });
        await cp(kept, folder, { recursive: true });
      },
    };
  };
  describeRestored(opened, { isOtherCopy: name !== "a copy of the folder" });
});
