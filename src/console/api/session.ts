import { signal } from "@preact/signals";
import { KEPT_TOKEN } from "./early.ts";

/** Session of this page. */
export interface Session {
  readonly token: string;
}

/** Reason of the last sign-out, shown at the next sign-in. */
export type Ended = "byUser" | "tokenEnded";

const words = new BroadcastChannel("mooring");

/** Undefined: not signed in. The token is in memory only, unless the user asked to keep it. */
export const session = signal<Session | undefined>(kept());
export const ended = signal<Ended | undefined>(undefined);

/** @param keep whether to store the token in this tab, so that a reload stays signed in. */
export function signIn(token: string, { keep }: { readonly keep: boolean }): void {
  if (keep) sessionStorage.setItem(KEPT_TOKEN, token);
  else sessionStorage.removeItem(KEPT_TOKEN);
  ended.value = undefined;
  session.value = { token };
}

/** Continues with another token, as after a reset. */
export function changeToken(token: string): void {
  signIn(token, { keep: sessionStorage.getItem(KEPT_TOKEN) !== null });
}

/** Number of running token replacements, during which a refused token does not end the session. */
let held = 0;

/** @returns a function that releases the session. */
export function holdSession(): () => void {
  held += 1;
  return () => {
    held -= 1;
  };
}

/** Signs out in this tab and in all other tabs with the same token. */
export function signOut(why: Ended): void {
  const token = session.peek()?.token;
  if (token === undefined || (held > 0 && why === "tokenEnded")) return;
  leave(why);
  words.postMessage({ token: fingerprint(token), why });
}

words.onmessage = ({ data }: MessageEvent<{ token: number; why: Ended }>) => {
  const token = session.peek()?.token;
  if (held > 0) return;
  if (token !== undefined && fingerprint(token) === data.token) leave(data.why);
};

function leave(why: Ended): void {
  sessionStorage.removeItem(KEPT_TOKEN);
  ended.value = why;
  session.value = undefined;
}

function kept(): Session | undefined {
  const token = sessionStorage.getItem(KEPT_TOKEN);
  return token === null ? undefined : { token };
}

/** Hash (FNV-1a, 32 bits) by which tabs compare tokens without sending them. */
function fingerprint(token: string): number {
  let sum = 0x811c9dc5;
  for (const char of token) sum = Math.imul(sum ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return sum >>> 0;
}
