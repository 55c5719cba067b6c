/** A store in a separate process: see ../process.ts. */
import { postgresServer } from "../../../src/database/postgres/server.ts";
import type { SettingStore } from "../../../src/ledger/store.ts";
import { openPostgresSettingStore } from "../../../src/store/postgres/store.ts";
import { serve } from "../served.ts";

let store: SettingStore;

serve({
  open: async (url: string) => {
    store = await openPostgresSettingStore(postgresServer(url, "test"));
  },
  load: () => store.load(),
  changedElsewhere: () => store.changedElsewhere(),
});
