import type { HandlerContext } from "@connectrpc/connect";
import { grantOf } from "../access/grant.ts";
import type { Text } from "../messages/message.ts";

/** Site that follows and does not get a change now. */
export interface PendingSite {
  readonly site: string;
  readonly reason: Text;
}

/** Sites that follow and get no change now. @param isAsked by id; default: all sites. */
export type PendingSites = (isAsked?: (siteId: string) => boolean) => readonly PendingSite[];

/** Creates the `pending_sites` of replies; only callers with `sites:read` get them. */
export function createPendingReply(
  pendingSites: PendingSites,
  sayIn: (context: HandlerContext) => (text: Text) => string,
) {
  return (context: HandlerContext, isAsked?: (siteId: string) => boolean) => {
    if (!grantOf(context).has("sites:read")) return [];
    const say = sayIn(context);
    return pendingSites(isAsked).map(({ site, reason }) => ({ site, reason: say(reason) }));
  };
}
