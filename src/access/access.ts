import { createChange } from "./change.ts";
import { createPrincipalService, type PrincipalService } from "./principal.ts";
import type { AccessRegistry } from "./registry.ts";
import type { AccessStore } from "./store.ts";
import { createTokenService, type TokenService } from "./token.ts";

/** Principals and tokens. Each change ends rights everywhere before it resolves. */
export interface AccessService extends PrincipalService, TokenService {}

export interface AccessServiceDeps {
  readonly store: AccessStore;
  readonly book: AccessRegistry;
  readonly randomBytes: (size: number) => Buffer;
  /** Ends the streams of those who have no right any more. */
  readonly changed: () => Promise<void>;
}

export function createAccessService(deps: AccessServiceDeps): AccessService {
  const parts = { ...deps, change: createChange(deps) };
  return { ...createPrincipalService(parts), ...createTokenService(parts) };
}
