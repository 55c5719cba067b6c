import type { SelectQueryBuilder } from "kysely";
import type { Database } from "./schema.ts";

/**
 * Makes a query lock its rows until the end of the transaction and return their newest version. On
 * dialects whose transactions hold the write lock the query stays as it is.
 */
export type LockRows = <Tables extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Tables, Row>,
) => SelectQueryBuilder<Database, Tables, Row>;
