import { once } from "node:events";
import type { WantedMount } from "../../../src/mounts/site/row.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { openDesk } from "../../mounts/site/desk.ts";

/** Task of a process: one round on a site, with states in a database file. */
export interface Task {
  readonly url: string;
  readonly token: string;
  readonly file: string;
  readonly wanted: readonly WantedMount[];
}

const [task] = (await once(process, "message")) as [Task];
const store = await openSqliteStore(task.file);
const desk = await openDesk(task, { store: store.mountStates });
desk.wanted = [...task.wanted];
await desk.round();
desk.close();
await store.close();
process.disconnect?.();
