import type { HashedStates } from "../ledger/history-query.ts";
import { SITE_STATES } from "../sites/query.ts";
import { RECORD_STATES } from "../sync/record-state-query.ts";

/** All tables with hashes of secrets beside the history. */
export const HASHED_STATES: readonly HashedStates[] = [SITE_STATES, RECORD_STATES];
