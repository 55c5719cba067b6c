import type { HandlerContext } from "@connectrpc/connect";
import { grantOf } from "../access/call-grant.ts";
import type { Grant } from "../access/grant.ts";
import { memoize } from "../memoize.ts";
import { type Rights, rightsOf as rightsOfGrant } from "./rights.ts";
import type { Snapshot } from "./snapshot.ts";

const rights = memoize((grant: Grant) =>
  memoize((snapshot: () => Snapshot) => rightsOfGrant(grant, snapshot)),
);

/** The caller's rights to single settings; made once for each grant. */
export function rightsOf(
  context: Pick<HandlerContext, "values">,
  snapshot: () => Snapshot,
): Rights {
  return rights(grantOf(context))(snapshot);
}
