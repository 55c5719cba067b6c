import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { Health } from "../../gen/health/v1/health_pb.js";
import { access } from "../../gen/mooring/access/v1/access_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { memoize } from "../memoize.ts";
import { denied } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { type Grant, SCOPES } from "./grant.ts";

/** Methods that need no token. All others require one. */
export const publicMethods: ReadonlySet<DescMethod> = new Set<DescMethod>([
  PublicService.method.ping,
  PublicService.method.getPublicSettings,
  PublicService.method.watchPublicSettings,
  ...Health.methods,
]);

/** Access requirement of a method, from the contract. */
interface Requirement {
  readonly isPublic: boolean;
  readonly scopes: readonly string[];
  /** Whether the method respects the limits of a token. */
  readonly limited: boolean;
}

/** Scope of methods for the permanent admin token alone. */
const ROOT_ONLY = "root";

/**
 * Reads the option `mooring.access.v1.access` of a method.
 *
 * @throws Error for a method without a valid option: it must not be served.
 */
export const requirementOf = memoize((method: DescMethod): Requirement => {
  // The standard health service has no such option; probes have no token.
  if (method.parent === Health) return { isPublic: true, scopes: [], limited: true };
  if (!hasOption(method, access))
    throw new Error(
      `${method.toString()} has no access option: add (mooring.access.v1.access), such as { scopes: "settings:read" }`,
    );
  const { public: isPublic, anyToken, scopes, limited } = getOption(method, access);
  const known = [...SCOPES, ROOT_ONLY] as readonly string[];
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown !== undefined)
    throw new Error(`${method.toString()} requires the unknown scope ${unknown}`);
  if ([isPublic, anyToken, scopes.length > 0].filter(Boolean).length !== 1)
    throw new Error(`${method.toString()} must have exactly one of public, any_token and scopes`);
  return { isPublic, scopes, limited: limited || anyToken };
});

/** @throws PERMISSION_DENIED naming the scope that is missing. */
export function checkRequirement(method: DescMethod, grant: Grant): void {
  if (grant.isRoot) return;
  const { scopes, limited } = requirementOf(method);
  for (const scope of scopes)
    if (!grant.has(scope))
      throw denied(
        scope === ROOT_ONLY
          ? message("PERMANENT_TOKEN_REQUIRED")
          : message("SCOPE_MISSING", { scope }),
      );
  if (grant.limits.length > 0 && !limited) throw denied(message("LIMITED_TOKEN"));
}
