import type { HashedStates } from "../ledger/history-query.ts";
import { MOUNT_STATES } from "../mounts/site/query.ts";
import { SITE_STATES } from "../sites/query.ts";

/** All tables with hashes of secrets beside the history. */
export const HASHED_STATES: readonly HashedStates[] = [SITE_STATES, MOUNT_STATES];
