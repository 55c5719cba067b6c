import { rm } from "node:fs/promises";
import { describe, onTestFinished } from "vitest";
import { newDatabaseFolder } from "../../../store/folder.ts";
import { nameOf } from "../../../store/postgres/opened.ts";
import { serverOfFile } from "../../../store/postgres/server.ts";
import { describeRestored, serviceWith } from "../../../wire/restored.ts";

const server = serverOfFile();

describe("PostgreSQL, restored from a copy of the database", () => {
  describeRestored(async () => {
    const folder = newDatabaseFolder();
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
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
