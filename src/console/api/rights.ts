import { timestampMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { effect, signal } from "@preact/signals";
import { AccessService, type WhoAmIResponse } from "../../../gen/mooring/v1/access_service_pb.js";
import { transport } from "./client.ts";
import { KEPT_BLIND } from "./early.ts";
import type { Failure } from "./failure.ts";
import { followCalls } from "./follow.ts";
import { offered, session, signIn } from "./session.ts";

/** Requirement of a call: a scope, or the permanent admin token. */
export type Need =
  | `settings:${"read" | "reveal" | "write" | "delete"}`
  | `history:${"read" | "rollback"}`
  | `backup:${"export" | "import"}`
  | `sites:${"read" | "manage"}`
  | `mounts:${"read" | "write" | "reveal"}`
  | `rules:${"read" | "write" | "reveal"}`
  | `incidents:${"read" | "acknowledge"}`
  | "users:read"
  | "users:write"
  | "webhooks:manage"
  | "drivers:read"
  | "tokens:manage"
  | "audit:read"
  | "root";

/** Principal and rights of the token. */
export interface Rights {
  readonly principal: string;
  /** Empty: none. */
  readonly tokenId: string;
  readonly needs: ReadonlySet<string>;
  /** Limits of the token, such as `key:s3_*`; empty: all settings. */
  readonly limits: readonly string[];
  /** Expiry, in milliseconds since 1970 UTC; undefined: never. */
  readonly end: number | undefined;
  /** Whether the user is an admin of the upstream, who cannot read Mooring's own token. */
  readonly isVisitor: boolean;
}

export const accessService = createClient(AccessService, transport);

/** Undefined: not signed in, or not known yet. */
export const rights = signal<Rights | undefined>(undefined);
/** Error of the last attempt to read the rights. */
export const rightsFailure = signal<Failure | undefined>(undefined);

/** Longest pause between two attempts to reach the service, in milliseconds. */
const LONGEST_PAUSE = 1_000;

/** Reports whether the token has all of these rights; false while they are unknown. */
export function may(...needs: readonly Need[]): boolean {
  return needs.every((need) => rights.value?.needs.has(need) === true);
}

/** Signs in with a token. @throws ConnectError of the service if the token is refused. */
export async function enter(token: string, options: { readonly keep: boolean }): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  take(await accessService.whoAmI({}, { headers }));
  signIn(token, options);
}

/** Takes over the session of another tab, unless that ends in the meantime. Called once. */
export function followOffers(): void {
  offered.subscribe((token) => {
    if (token !== undefined) void takeOver(token);
  });
}

async function takeOver(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await accessService.whoAmI({}, { headers }).catch(() => undefined);
  if (offered.peek() !== token || session.peek() !== undefined) return;
  offered.value = undefined;
  if (answer === undefined) return;
  take(answer);
  signIn(token, { keep: true });
}

/** Reads the rights after each sign-in. Called once. */
export function followRights(): void {
  effect(() => {
    if (session.value === undefined) {
      rights.value = undefined;
      return;
    }
    if (rights.peek() !== undefined) return;
    const leaving = new AbortController();
    void loadRights(leaving.signal);
    return () => leaving.abort();
  });
}

async function loadRights(signal: AbortSignal): Promise<void> {
  const answers = followCalls({
    open: async function* (_, options) {
      yield await accessService.whoAmI({}, options);
    },
    isRetried: () => true,
    longestPause: LONGEST_PAUSE,
    failure: rightsFailure,
    signal,
  });
  for await (const answer of answers) return take(answer);
}

function take(answer: WhoAmIResponse): void {
  rights.value = rightsOf(answer);
  // Used by the next load of the page.
  if (may("settings:read")) sessionStorage.removeItem(KEPT_BLIND);
  else sessionStorage.setItem(KEPT_BLIND, "1");
}

/** Prefix of the names of upstream admins, and the rights that they never have. */
const VISITOR = "upstream:";
const KEPT: readonly string[] = ["tokens:manage", "backup:import"] satisfies Need[];

function rightsOf({ principal, tokenId, scopes, limits, expireTime }: WhoAmIResponse): Rights {
  const isVisitor = principal.startsWith(VISITOR);
  const held = isVisitor ? scopes.filter((scope) => !KEPT.includes(scope)) : scopes;
  const isRoot = principal === "admin" && tokenId === "";
  return {
    principal,
    tokenId,
    needs: new Set(isRoot ? [...held, "root"] : held),
    limits,
    end: expireTime && timestampMs(expireTime),
    isVisitor,
  };
}
