import { signal } from "@preact/signals";
import { forgetAllTokens, forgetToken, keepToken, keptToken } from "./early.ts";

/** Session of this page. */
export interface Session {
  readonly token: string;
}

/** Reason of the last sign-out, shown at the next sign-in. */
export type Ended = "byUser" | "inOtherTab" | "tokenEnded";

type SignOutReason = Exclude<Ended, "inOtherTab">;

/**
 * Messages between the tabs of the console.
 * - `ask`: a tab without a session asks the others for theirs, which they `give`.
 * - `signedIn`: a session has begun that tabs may ask for.
 * - `ended`: by the user (all tabs), or because the token has ended (tabs with that token).
 */
type Message =
  | { readonly kind: "ask" }
  | { readonly kind: "signedIn" }
  | { readonly kind: "give"; readonly token: string }
  | { readonly kind: "ended"; readonly token: number; readonly why: SignOutReason };

const tabs = new BroadcastChannel("mooring");
const post = (message: Message): void => tabs.postMessage(message);

/** Undefined: not signed in. */
export const session = signal<Session | undefined>(kept());
export const ended = signal<Ended | undefined>(undefined);
/** Session of another tab, offered to this one, which has none. */
export const offered = signal<string | undefined>(undefined);

/**
 * Whether other programs may have pages at this origin: the server that Mooring is in front of, or
 * neighbours behind a proxy. Their scripts can read the storage and the messages of the console.
 */
export const sharesOrigin = new URL(".", window.location.href).pathname !== "/console/";

/**
 * @param keep whether a reload and new tabs are signed in too: the token is then in the storage of
 *   this tab, and given to tabs that ask for it.
 */
export function signIn(token: string, { keep }: { readonly keep: boolean }): void {
  if (keep) keepToken(token);
  else forgetToken();
  ended.value = undefined;
  offered.value = undefined;
  session.value = { token };
  if (keep) post({ kind: "signedIn" });
}

/** Continues with another token, as after a reset. */
export function changeToken(token: string): void {
  signIn(token, { keep: keptToken() !== undefined });
}

/** Asks the other tabs for their session, which arrives in `offered`. */
export function askTabs(): void {
  post({ kind: "ask" });
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

/** Signs out all tabs, or, if the token has ended, those with the same token. */
export function signOut(why: SignOutReason): void {
  const token = session.peek()?.token;
  if (token === undefined || (held > 0 && why === "tokenEnded")) return;
  if (why === "byUser") forgetAllTokens();
  leave(why);
  post({ kind: "ended", token: fingerprint(token), why });
}

tabs.onmessage = ({ data }: MessageEvent<Message>) => {
  const token = session.peek()?.token;
  if (data.kind === "ask") {
    const mine = keptToken();
    if (mine !== undefined && mine === token) post({ kind: "give", token: mine });
  } else if (data.kind === "give") {
    if (token === undefined) offered.value = data.token;
  } else if (data.kind === "signedIn") {
    if (token === undefined) askTabs();
  } else if (data.why === "byUser") {
    leave(token === undefined ? "byUser" : "inOtherTab");
  } else if (token !== undefined && held === 0 && fingerprint(token) === data.token) {
    leave(data.why);
  }
};

function leave(why: Ended): void {
  forgetToken();
  offered.value = undefined;
  ended.value = why;
  session.value = undefined;
}

function kept(): Session | undefined {
  const token = keptToken();
  return token === undefined ? undefined : { token };
}

/** Hash (FNV-1a, 32 bits) by which tabs compare tokens without sending them. */
function fingerprint(token: string): number {
  let sum = 0x811c9dc5;
  for (const char of token) sum = Math.imul(sum ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return sum >>> 0;
}
