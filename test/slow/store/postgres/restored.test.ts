import { rm } from "node:fs/promises";
import { describe, expect, vi } from "vitest";
import { newDatabaseFolder } from "../../../store/folder.ts";
import { nameOf, SOON } from "../../../store/postgres/opened.ts";
import { serverOfFile, startPostgres } from "../../../store/postgres/server.ts";
import { describeRestored, serviceWith } from "../../../wire/restored.ts";

const server = serverOfFile();

describe("PostgreSQL, restored from a copy of the database", () => {
  describeRestored(async (ending) => {
    const folder = newDatabaseFolder();
    ending.defer(() => rm(folder, { recursive: true, force: true }));
    const url = await server().newDatabase();
    const name = nameOf(url);
    return {
      start: () => serviceWith(folder, { MOORING_DATABASE_URL: url }),
      copy: async () => {
        await server().query(`create database ${name}_copy template ${name}`);
      },
      putBack: async () => {
        await server().query(`drop database ${name}`);
        await server().query(`create database ${name} template ${name}_copy`);
      },
    };
  });
});

describe("PostgreSQL, after a standby without the last commits took over", () => {
  describeRestored(
    async (ending) => {
      server();
      const folder = newDatabaseFolder();
      ending.defer(() => rm(folder, { recursive: true, force: true }));
      const primary = await startPostgres();
      ending.defer(() => primary.remove());
      const standby = await primary.standby();
      ending.defer(() => standby.remove());
      let current = primary;
      return {
        start: () => serviceWith(folder, { MOORING_DATABASE_URL: current.url() }),
        copy: async () => {
          const [written] = await primary.query("select pg_current_wal_lsn() as at");
          const has = `select pg_last_wal_replay_lsn() >= '${written?.["at"]}' as has`;
          await vi.waitFor(
            async () => expect(await standby.query(has)).toEqual([{ has: true }]),
            SOON,
          );
          await standby.kill("SIGKILL");
        },
        putBack: async () => {
          await primary.kill("SIGKILL");
          await standby.start();
          await standby.promote();
          current = standby;
        },
      };
    },
    { isPromotion: true },
  );
});
