import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { escapeHtml } from "../messages/message.ts";

/** English texts of the page. */
export const UNAVAILABLE_TEXTS = {
  title: "The site does not answer",
  explanation:
    "The server of this site cannot be reached at the moment. This page tries again by itself and opens as soon as the server answers.",
  waiting: "Next attempt in {seconds} s",
  trying: "Trying …",
  now: "Try now",
} as const;

/** A page with its headers. */
export interface UnavailablePage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Seconds until the first attempt of the page, and for clients that read the header. */
const FIRST_PAUSE = 2;

/**
 * Creates the page that a browser gets while the upstream does not answer. The page requests its
 * own URL, with pauses that double up to a minute, and reloads when the answer is not 502.
 *
 * @param translationFor the language for a header Accept-Language, as a BCP 47 tag, with its translations.
 * @returns a function of a request: undefined when the request is not a navigation of a browser.
 */
export function createUnavailablePage(
  translationFor: (acceptLanguage: string | undefined) => {
    readonly language: string;
    readonly translate: (text: string) => string;
  },
): (request: IncomingMessage) => UnavailablePage | undefined {
  return (request) => {
    if (!isNavigation(request)) return undefined;
    const { language, translate } = translationFor(request.headers["accept-language"]);
    return {
      headers: { ...HEADERS, "content-language": language },
      body: pageIn(language, translate),
    };
  };
}

/**
 * Reports whether a request is a navigation. Other programs do not ask for HTML explicitly, and
 * scripts of a page send another `Sec-Fetch-Mode`.
 */
function isNavigation({ method, headers }: IncomingMessage): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  if ((headers["sec-fetch-mode"] ?? "navigate") !== "navigate") return false;
  return (headers.accept ?? "")
    .split(",")
    .some(
      (range) => /^\s*text\/html\s*(?:;|$)/i.test(range) && !/;\s*q=0(?:\.0*)?\s*$/i.test(range),
    );
}

const STYLE = `
:root{color-scheme:light dark;font:16px/1.6 system-ui,sans-serif}
body{background:light-dark(#f6f8fa,#14181d);color:light-dark(#1f2429,#dfe5ec);display:grid;margin:0;min-height:100vh;place-items:center}
main{box-sizing:border-box;max-width:32rem;padding:2rem}
h1{font-size:1.4rem;line-height:1.3;margin:0 0 .75rem}
p{margin:0 0 1rem}
#next{color:light-dark(#57606a,#98a4b1);font-variant-numeric:tabular-nums}
button{background:light-dark(#0b5cad,#7db7f0);border:0;border-radius:6px;color:light-dark(#fff,#10151a);cursor:pointer;font:inherit;padding:.45rem 1.1rem}
button:disabled{cursor:default;opacity:.6}
button:focus-visible{outline:2px solid;outline-offset:2px}
`;

const SCRIPT = `
const next=document.getElementById("next"),button=document.getElementById("now");
let pause=${FIRST_PAUSE},timer;
async function attempt(){
clearTimeout(timer);button.disabled=true;next.textContent=next.dataset.trying;
let up=false;
try{up=(await fetch(location.href,{method:"HEAD",cache:"no-store",redirect:"manual",signal:AbortSignal.timeout(15000)})).status!==502}catch{}
if(up)return location.reload();
pause=Math.min(pause*2,60);button.disabled=false;wait(Math.ceil(pause*(.75+Math.random()/2)))}
function wait(left){
if(left<=0)return attempt();
next.textContent=next.dataset.waiting.replace("{seconds}",left);timer=setTimeout(wait,1000,left-1)}
button.hidden=false;button.addEventListener("click",attempt);wait(pause)
`;

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${hash("sha256", STYLE, "base64")}'`,
    `script-src 'sha256-${hash("sha256", SCRIPT, "base64")}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "retry-after": String(FIRST_PAUSE),
  "x-content-type-options": "nosniff",
};

function pageIn(language: string, translate: (text: string) => string): string {
  const say = (text: string): string => escapeHtml(translate(text));
  const { title, explanation, waiting, trying, now } = UNAVAILABLE_TEXTS;
  return [
    `<!doctype html>\n<html lang="${escapeHtml(language)}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    '<meta name="robots" content="noindex">',
    // Without scripts the browser reloads the URL.
    `<noscript><meta http-equiv="refresh" content="15"></noscript>`,
    `<title>${say(title)}</title><style>${STYLE}</style></head>`,
    `<body><main><h1>${say(title)}</h1><p>${say(explanation)}</p>`,
    `<p id="next" data-waiting="${say(waiting)}" data-trying="${say(trying)}"></p>`,
    `<button id="now" type="button" hidden>${say(now)}</button></main>`,
    `<script>${SCRIPT}</script></body></html>\n`,
  ].join("");
}
