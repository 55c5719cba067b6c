/** A store in a process of its own: see ../process.ts. */
import { postgresServer } from "../../../src/store/postgres/server.ts";
import { openPostgresSettingStore } from "../../../src/store/postgres/setting-store.ts";
import type { SettingStore } from "../../../src/store/setting-store.ts";
import { serve } from "../served.ts";

let store: SettingStore;

serve({
  open: async (url: string) => {
    store = await openPostgresSettingStore(postgresServer(url, "test"));
  },
  load: () => store.load(),
  changedElsewhere: () => store.changedElsewhere(),
});
