import type { PGlite } from "@electric-sql/pglite";
import { PGliteDialect } from "kysely";
import type { PostgresServer } from "../../../src/store/postgres/server.ts";

/** PostgreSQL in this process, with one connection that all stores share. */
export function serverOf(database: PGlite): PostgresServer {
  // A store that is closed leaves it to the others.
  const shared = new Proxy(database, {
    get: (target, name) => {
      if (name === "close") return async () => undefined;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const dialect = new PGliteDialect({ pglite: shared });
  return {
    place: "pglite",
    dialect,
    patient: dialect,
    // It shares the tests' own thread: how long that takes says nothing of a server.
    saveWithin: 80_000,
    listen: async (channel, heard) => {
      const close = await database.listen(`"${channel}"`, heard);
      return { close: () => close() };
    },
  };
}
