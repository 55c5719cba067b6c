import { createChange } from "./change.ts";
import { createPrincipalService, type PrincipalService } from "./principal.ts";
import type { AccessRegistry } from "./registry.ts";
import type { AccessStore } from "./store.ts";
import { createTokenService, type TokenService } from "./token.ts";

/** Principals and tokens. A change that ends rights resolves when no process accepts them. */
export interface AccessService extends PrincipalService, TokenService {
  /** Expiry of a token, in milliseconds since 1970 UTC; undefined: none, or unknown token. */
  endOf(tokenId: string): number | undefined;
}

export interface AccessServiceDeps {
  readonly store: AccessStore;
  readonly registry: AccessRegistry;
  readonly randomBytes: (size: number) => Buffer;
  /** Ends the streams of tokens that are no longer valid. */
  readonly changed: () => Promise<void>;
}

export function createAccessService(deps: AccessServiceDeps): AccessService {
  const parts = { ...deps, change: createChange(deps) };
  return {
    ...createPrincipalService(parts),
    ...createTokenService(parts),
    endOf: deps.registry.endOf,
  };
}
