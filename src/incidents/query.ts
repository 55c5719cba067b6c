import type { Transaction } from "kysely";
import type { Database } from "../database/schema.ts";
import { dayQueries } from "./days/query.ts";
import { forgetIncidents, incidentQueries } from "./incident-query.ts";
import type { IncidentStore } from "./store.ts";
import type { IncidentQueryDeps, IncidentTables } from "./tables-query.ts";
import { deliveryQueries, forgetDeliveries } from "./webhook/delivery-query.ts";
import { webhookQueries } from "./webhook/query.ts";

/** Creates the store of incidents for both dialects. */
export function createIncidentStore({ check, ...deps }: IncidentQueryDeps): IncidentStore {
  const { db, attempt } = deps;
  const writing = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
    attempt(() => {
      check?.();
      return db.transaction().execute(work);
    });
  const tables: IncidentTables = { ...deps, writing };
  return {
    days: dayQueries(tables),
    ...incidentQueries(tables),
    ...webhookQueries(tables),
    ...deliveryQueries(tables),
    forget: (before) =>
      writing(async (trx) => {
        await forgetIncidents(trx, before);
        await forgetDeliveries(trx, before);
      }),
  };
}
