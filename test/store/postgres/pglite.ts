import type { PGlite } from "@electric-sql/pglite";
import { PGliteDialect } from "kysely";
import type { PostgresServer } from "../../../src/database/postgres/server.ts";

/** PostgreSQL in this process, with one connection that all stores share. */
export function serverOf(database: PGlite): PostgresServer {
  // Closing a store leaves the connection open for the others.
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
    // It shares the tests' thread: its times are not those of a server.
    saveWithin: 80_000,
    listen: async (channel, heard) => {
      let isOpen = true;
      await database.listen(`"${channel}"`, (payload) => {
        if (isOpen) heard(payload);
      });
      return {
        // Its own dispose function omits the quotes that a name with a hyphen needs.
        close: async () => {
          isOpen = false;
        },
      };
    },
  };
}
