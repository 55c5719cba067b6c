import { preferredLanguage } from "../i18n/preferred.ts";

// A script of its own, small and without the rest: it runs while the others are still on their way,
// and asks for what every page needs. On a phone far away that is one wait less.

/** Where the tab's storage has the token of somebody who asked to be kept. */
export const KEPT_TOKEN = "mooring.token";
/** Where it has that this token reads no settings: to ask for them would stand in the audit as refused. */
export const KEPT_BLIND = "mooring.blind";

/** Whether nobody asks for settings before the service has said that the token may. */
export const isBlind = sessionStorage.getItem(KEPT_BLIND) !== null;

/** Where the services are: below this. */
export const services = new URL(
  document.documentElement.dataset["services"] ?? "../",
  window.location.href,
).href;

interface Early {
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly response: Promise<Response>;
}

/** By address; each answers once. */
const asked = new Map<string, Early>();

const token = sessionStorage.getItem(KEPT_TOKEN);
if (token !== null) {
  ask("mooring.v1.AccessService/WhoAmI", token, []);
  // With `mask_secrets`, field 2, as true.
  if (!isBlind) ask("mooring.v1.SettingService/ListSettings", token, [0x10, 1]);
}

/** Sends what Connect-Web would send: https://connectrpc.com/docs/protocol#unary-request. */
function ask(path: string, token: string, message: readonly number[]): void {
  const headers = new Headers({
    authorization: `Bearer ${token}`,
    "accept-language": preferredLanguage(),
    "content-type": "application/proto",
    "connect-protocol-version": "1",
  });
  const body = new Uint8Array(message);
  const response = fetch(services + path, { method: "POST", headers, body });
  // Who takes it hears of it; nobody else has to.
  response.catch(() => undefined);
  asked.set(services + path, { headers, body, response });
}

/** As fetch; the answer to a call that is under way already, where it is the very same call. */
export const fetchOnce: typeof fetch = (input, init) => {
  const early = asked.get(String(input));
  asked.delete(String(input));
  return early && isSame(early, init) ? early.response : fetch(input, init);
};

function isSame(early: Early, init: RequestInit | undefined): boolean {
  const sent = Array.from(init?.body instanceof Uint8Array ? init.body : []);
  const headers = [...new Headers(init?.headers)];
  return `${sent}` === `${Array.from(early.body)}` && `${headers}` === `${[...early.headers]}`;
}
