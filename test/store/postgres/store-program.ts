/** A store in a separate process: see ../process.ts. */
import { postgresServer } from "../../../src/database/postgres/server.ts";
import type { LedgerStore } from "../../../src/ledger/store.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { serve } from "../served.ts";

let store: LedgerStore;

serve({
  open: async (url: string) => {
    store = await openPostgresStore(postgresServer(url, "test"));
  },
  load: () => store.load(),
  changedElsewhere: () => store.changedElsewhere(),
});
