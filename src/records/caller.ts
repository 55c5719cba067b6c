import type { HandlerContext } from "@connectrpc/connect";
import { type Grant, grantOf, shareOf } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import type { RecordResult } from "../history/record-result.ts";
import type { ChangeOrigin } from "../ledger/writer.ts";

/** Caller of a change: its rights, and its data for the history. */
export interface Caller {
  readonly grant: Grant;
  readonly origin: ChangeOrigin;
  /** Checks the right again, after a wait. @throws UNAUTHENTICATED. Absent: no-op. */
  readonly renew?: () => Promise<void>;
  /** Ends the wait for a site. Absent: no-op. */
  readonly signal?: AbortSignal;
}

/** Result of a change of records. */
export interface Saved {
  /** Revision after the change. */
  readonly revision: number;
  readonly results: readonly RecordResult[];
}

export interface ChangeOptions {
  readonly dryRun?: boolean;
}

/** Caller of an rpc. */
export function callerOf(context: HandlerContext, reason = ""): Caller {
  const grant = grantOf(context);
  const origin = { ...originOf(context, reason), share: shareOf(grant) };
  return { grant, origin, signal: context.signal };
}
