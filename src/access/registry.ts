import { timingSafeEqual } from "node:crypto";
import { actorOf } from "../audit/entry.ts";
import { createReplica } from "../database/replica.ts";
import { createGrant, type Grant } from "./grant.ts";
import type { AccessStore, StoredPrincipal, StoredToken } from "./store.ts";
import { hashOf, idOf, secretOf } from "./token-text.ts";

/** Principal and rights of a token. */
interface Identity {
  /** Name in history and log: the principal, and after a slash the token's id. */
  readonly name: string;
  readonly principal: string;
  /** Empty for the permanent token. */
  readonly tokenId: string;
  readonly grant: Grant;
  /** Expiry, in milliseconds since 1970 UTC; undefined: it does not expire. */
  readonly until: number | undefined;
}

/** Token in use since it was read. */
interface Used {
  readonly identity: Identity;
  /** Time of the last recorded use. */
  noted: number;
}

/** Minimum interval between recorded uses of a token, in milliseconds. */
const NOTE_INTERVAL = 60_000;

export interface AccessRegistryDeps {
  readonly store: AccessStore;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called with a token's use, at most once a minute. */
  readonly used?: (tokenId: string, time: number, peer: string) => void;
}

/** Rights of all tokens, in memory. */
export interface AccessRegistry {
  /** Applies changes of other processes; synchronous if there are none. Call it before `find`. */
  fresh(): void | Promise<void>;
  /** Like fresh, after a write by this process. */
  reread(): Promise<void>;
  /** @returns undefined for an invalid token. @param peer called when the use is recorded. */
  find(token: string, peer: () => string): Identity | undefined;
  /** Version of the tables at the last read. */
  version(): number;
  /** Increases with each applied change, also after the database was replaced. */
  readings(): number;
  principals(): readonly StoredPrincipal[];
  tokens(): Iterable<StoredToken>;
  principalOf(token: Pick<StoredToken, "principalId">): StoredPrincipal | undefined;
  /** Time that never decreases: an ended token stays ended if the clock is set back. */
  now(): number;
  /** @param principal owner of the token. Default: the one at the last read. */
  isActive(token: StoredToken, principal?: StoredPrincipal): boolean;
  /** Expiry of a token, as in Identity. */
  endOf(tokenId: string): number | undefined;
}

/** Reads all tokens, and later only changed ones. */
export async function openAccessRegistry({
  store,
  now: clock,
  used,
}: AccessRegistryDeps): Promise<AccessRegistry> {
  const principals = new Map<string, StoredPrincipal>();
  const tokens = new Map<string, StoredToken>();
  const inUse = new Map<string, Used>();
  const grants = new Map<string, Grant>();
  let version = 0;
  let readings = 0;
  let newest = 0;
  const now = (): number => {
    newest = Math.max(newest, clock());
    return newest;
  };
  /** One object per set of rights: cached replies are keyed by it. */
  const grantOf = ({ scopes, limits }: StoredToken): Grant => {
    const name = JSON.stringify([scopes, limits]);
    const made = grants.get(name) ?? createGrant(scopes, limits);
    grants.set(name, made);
    return made;
  };
  const principalOf = ({ principalId }: Pick<StoredToken, "principalId">) =>
    principals.get(principalId);
  const isActive = (token: StoredToken, principal = principalOf(token)): boolean =>
    token.revokedAt === null && endOf(token) > now() && principal?.disabledAt === null;
  const identityOf = (token: StoredToken): Identity => {
    const principal = principalOf(token)?.name ?? "";
    const until = endOf(token);
    return {
      name: actorOf(principal, token.id),
      principal,
      tokenId: token.id,
      grant: grantOf(token),
      until: Number.isFinite(until) ? until : undefined,
    };
  };
  const read = async (): Promise<void> => {
    const news = await store.news(version);
    if (news.isWhole) for (const map of [principals, tokens, inUse]) map.clear();
    if (news.isWhole || news.version !== version) readings += 1;
    version = news.version;
    for (const principal of news.principals) principals.set(principal.id, principal);
    for (const token of news.tokens) {
      tokens.set(token.id, token);
      inUse.delete(token.id);
    }
  };
  const { fresh, refresh } = createReplica({
    read,
    isStale: () => store.changedElsewhere(),
    // The replica of the settings reports an unavailable database.
    onFailure: () => undefined,
  });
  await read();
  return {
    now,
    isActive,
    endOf: (tokenId) => {
      const token = tokens.get(tokenId);
      return token && identityOf(token).until;
    },
    version: () => version,
    readings: () => readings,
    principals: () => [...principals.values()],
    tokens: () => tokens.values(),
    principalOf,
    reread: refresh,
    fresh,
    find: (text, peer) => {
      const id = idOf(text);
      const token = id === undefined ? undefined : tokens.get(id);
      if (token === undefined || !hasHash(token, hashOf(secretOf(text))) || !isActive(token))
        return undefined;
      const known = inUse.get(token.id) ?? { identity: identityOf(token), noted: 0 };
      inUse.set(token.id, known);
      const time = now();
      if (used !== undefined && Math.abs(time - known.noted) >= NOTE_INTERVAL) {
        known.noted = time;
        used(token.id, time, peer());
      }
      return known.identity;
    },
  };
}

function endOf({ expiresAt, notAfter }: StoredToken): number {
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, notAfter ?? Number.POSITIVE_INFINITY);
}

/** Compares in constant time. */
function hasHash(token: StoredToken, hash: string): boolean {
  const [known, sent] = [Buffer.from(token.hash, "latin1"), Buffer.from(hash, "latin1")];
  return known.length === sent.length && timingSafeEqual(known, sent);
}
