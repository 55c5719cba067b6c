import type { HandlerContext } from "@connectrpc/connect";
import { grantOf } from "../access/call-grant.ts";
import type { Grant } from "../access/grant.ts";
import { type Rights, rightsOf as rightsOfGrant } from "./rights.ts";
import type { Snapshot } from "./snapshot.ts";

const made = new WeakMap<Grant, WeakMap<() => Snapshot, Rights>>();

/** The caller's rights to single settings; made once for each grant. */
export function rightsOf(
  context: Pick<HandlerContext, "values">,
  snapshot: () => Snapshot,
): Rights {
  const grant = grantOf(context);
  const known = made.get(grant) ?? new WeakMap<() => Snapshot, Rights>();
  made.set(grant, known);
  const rights = known.get(snapshot) ?? rightsOfGrant(grant, snapshot);
  known.set(snapshot, rights);
  return rights;
}
