import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { PublicService } from "../../../gen/mooring/v1/public_service_pb.js";
import type { Call } from "../method.ts";
import type { Check } from "./check.ts";

/** The only methods that need no token. Everything else is closed. */
export const publicMethods: ReadonlySet<DescMethod> = new Set<DescMethod>([
  PublicService.method.ping,
  PublicService.method.getPublicSettings,
  PublicService.method.watchPublicSettings,
]);

/**
 * Finds whom a token belongs to.
 *
 * @returns the token's name, or undefined for a wrong one.
 */
export type Authenticate = (token: string) => string | undefined | Promise<string | undefined>;

const MISSING =
  'the admin token is missing: send it in the header (or metadata) "authorization", as it is or after "Bearer "';
const WRONG =
  'the admin token is wrong: compare it with the setting "token"; it may have been reset';

/**
 * Admits calls by their token, raw or as `Bearer …` (contract, section 5; RFC 6750, section 2.1).
 *
 * @returns for a method that needs a token, what throws UNAUTHENTICATED for a call without.
 */
export function createAdmission(
  authenticate: Authenticate,
): (desc: DescMethod) => Check | undefined {
  const check: Check = (call) => {
    const token = readToken(call.header.get("authorization"));
    if (token === "") throw new ConnectError(MISSING, Code.Unauthenticated);
    const actor = authenticate(token);
    return actor instanceof Promise ? actor.then((name) => admit(call, name)) : admit(call, actor);
  };
  return (desc) => (publicMethods.has(desc) ? undefined : check);
}

function admit(call: Call, actor: string | undefined): void {
  if (actor === undefined) throw new ConnectError(WRONG, Code.Unauthenticated);
  call.actor = actor;
}

function readToken(header: string | undefined): string {
  const value = (header ?? "").trim();
  return /^bearer( |$)/i.test(value) ? value.slice("bearer".length).trim() : value;
}
