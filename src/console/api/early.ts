import { preferredLanguage } from "../i18n/preferred.ts";

// A separate small script that runs while the others are loading, and requests the data that every
// page needs. On a slow connection that saves one round trip.

/** Key in the tab's storage of the token of a session that survives a reload. */
const TOKEN = "mooring.token";
/**
 * Key, in the storage of the tab and of all tabs, of the last sign-out. A kept token with another
 * one is from before it: its tab was closed, frozen or loading when the others were signed out.
 */
const SIGN_OUT = "mooring.sign-out";
/**
 * Key that records that this token reads no settings: a request for them would be audited as
 * refused.
 */
export const KEPT_BLIND = "mooring.blind";

/** Whether settings are not requested before the service has confirmed the right. */
export const isBlind = sessionStorage.getItem(KEPT_BLIND) !== null;

/** Base address of the services. */
export const services = new URL(
  document.documentElement.dataset["services"] ?? "../",
  window.location.href,
).href;

/** Token that this tab has kept; undefined: none since the last sign-out. */
export function keptToken(): string | undefined {
  const isCurrent = sessionStorage.getItem(SIGN_OUT) === localStorage.getItem(SIGN_OUT);
  return (isCurrent ? sessionStorage.getItem(TOKEN) : null) ?? undefined;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(SIGN_OUT, localStorage.getItem(SIGN_OUT) ?? "");
  if (localStorage.getItem(SIGN_OUT) === null) localStorage.setItem(SIGN_OUT, "");
  sessionStorage.setItem(TOKEN, token);
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN);
}

/** Mark of the last sign-out of all tabs; empty: there was none. */
export function signOutMark(): string {
  return localStorage.getItem(SIGN_OUT) ?? "";
}

/** Invalidates the kept tokens of all tabs, also of those that do not run. */
export function forgetAllTokens(): void {
  forgetToken();
  localStorage.setItem(SIGN_OUT, String(Date.now()));
}

interface Early {
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly response: Promise<Response>;
}

/** Early requests by address; each response is used once. */
const requests = new Map<string, Early>();

const token = keptToken();
if (token !== undefined) {
  ask("mooring.v1.AccessService/WhoAmI", token, []);
  // With `mask_secrets`, field 2, as true.
  if (!isBlind) ask("mooring.v1.SettingService/ListSettings", token, [0x10, 1]);
}

/** Sends the same request as Connect-Web: https://connectrpc.com/docs/protocol#unary-request. */
function ask(path: string, token: string, message: readonly number[]): void {
  const headers = new Headers({
    authorization: `Bearer ${token}`,
    "accept-language": preferredLanguage(),
    "content-type": "application/proto",
    "connect-protocol-version": "1",
  });
  const body = new Uint8Array(message);
  const response = fetch(services + path, { method: "POST", headers, body });
  // Handled by the caller that takes the response.
  response.catch(() => undefined);
  requests.set(services + path, { headers, body, response });
}

/** Like fetch; returns the answer to an identical call that is in progress. */
export const fetchOnce: typeof fetch = (input, init) => {
  const early = requests.get(String(input));
  requests.delete(String(input));
  return early && isSame(early, init) ? early.response : fetch(input, init);
};

function isSame(early: Early, init: RequestInit | undefined): boolean {
  const sent = Array.from(init?.body instanceof Uint8Array ? init.body : []);
  const headers = [...new Headers(init?.headers)];
  return `${sent}` === `${Array.from(early.body)}` && `${headers}` === `${[...early.headers]}`;
}
