import type { HandlerContext } from "@connectrpc/connect";
import { Call, callKey } from "../gateway/call.ts";
import { admissionOf } from "./admission.ts";
import { type Grant, NOTHING, ROOT } from "./grant.ts";

/** The grant of the caller: none before admission; a command on the database itself is root. */
export function grantOf(context: Pick<HandlerContext, "values">): Grant {
  if (context instanceof Call) return admissionOf(context)?.grant ?? NOTHING;
  const info = context.values.get(callKey);
  return info === undefined || info.door === "cli" ? ROOT : (admissionOf(info)?.grant ?? NOTHING);
}
