import type { HandlerContext } from "@connectrpc/connect";
import { type Grant, NOTHING, ROOT } from "../access/grant.ts";
import { Call, callKey } from "../gateway/call.ts";
import { type Rights, rightsOf as rightsOfGrant } from "./rights.ts";
import type { Snapshot } from "./snapshot.ts";

/** What the caller may do: nothing, unless somebody has let it in. A command on a database is root. */
export function grantOf(context: Pick<HandlerContext, "values">): Grant {
  if (context instanceof Call) return context.grant ?? NOTHING;
  const info = context.values.get(callKey);
  return info === undefined || info.door === "cli" ? ROOT : (info.grant ?? NOTHING);
}

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
