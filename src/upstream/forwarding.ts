import type { AuditOrigin } from "../audit/entry.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import type { SettingJob, SettingSync } from "../sites/settings/sync.ts";
import type { Site } from "../sites/site.ts";
import { SiteFailure } from "../sync/failure.ts";
import { forwardChange } from "../sync/forward.ts";
import { VISITOR_ACTOR } from "./session.ts";
import { ADOPTION } from "./upstream-site.ts";

/** Forwarded request of an admin of the upstream, for history and audit. */
export interface ForwardedCall {
  /** Name of the admin. */
  readonly visitor: string;
  /** The last part of its path, such as `set_transmission`. */
  readonly call: string;
  readonly requestId: string;
  /** The client's address, without port. */
  readonly peer: string;
}

export interface ForwardingDeps {
  readonly settings: Pick<SettingSync, "exclusive">;
  /** Adopts the upstream's values. @param onlyDrifted only those that changed there. */
  readonly adopt: (
    job: SettingJob,
    origin: RevisionOrigin,
    onlyDrifted: boolean,
  ) => Promise<unknown>;
  readonly onError: (error: unknown) => void;
}

/** Forwards a request that may change settings, and adopts the changes as the admin's. */
export function forwardSettings(
  { settings, adopt, onError }: ForwardingDeps,
  site: Site,
  send: () => Promise<void>,
  by: ForwardedCall,
): Promise<void> {
  return forwardChange<SettingJob>(settings.exclusive, site.id, {
    send,
    // Earlier changes there do not belong to this admin.
    before: async (job) => {
      await adopt(job, ADOPTION, true).catch((error: unknown) => {
        if (!(error instanceof SiteFailure)) throw error;
      });
    },
    adopt: async (job) => {
      await adopt(job, { ...originOf(by), reason: `${by.call} at the upstream` }, true);
    },
    onError,
  });
}

/** Origin of changes by a forwarded request; they are adopted as by AdoptSite. */
export function originOf({ visitor, requestId, peer }: ForwardedCall): AuditOrigin {
  return {
    actor: `${VISITOR_ACTOR}${visitor}`,
    transport: "rest",
    method: "AdoptSite",
    requestId,
    peer,
  };
}
