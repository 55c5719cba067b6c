import type { GatewayOptions } from "../gateway/options.ts";
import { RuleError } from "../gateway/rest/rule.ts";

/**
 * Gateway options of Mooring's REST contract (docs/rest-contract.md), which is older than the
 * defaults of google.api.http and stays compatible with its clients.
 */
export const restContract = {
  memberNames: "proto",
  errors: "envelope",
  warn: (message: string): never => {
    throw new RuleError(message);
  },
  largeIntegers: "refuse",
  tolerance: {
    emptyParameters: true,
    unusableParameters: true,
    repeatedParameters: true,
    memberCase: true,
    nullBody: true,
    emptyNumbers: true,
    trailingSlash: true,
  },
} as const satisfies Partial<GatewayOptions>;
