import { escapeHtml } from "../messages/message.ts";

/** English texts of the start page. */
export const START_TEXTS = {
  about:
    "Mooring runs here: it keeps settings, mounts and folder rules of AList and OpenList servers.",
  ready: "It is ready.",
  notReady: "It is not ready: {problem}.",
  signIn: "Next: sign in at the console with the admin token that the first start printed.",
  read: 'Next: read the documentation; the console is off ("MOORING_CONSOLE").',
  console: "Console",
  documentation: "Documentation",
  programs: "For programs",
  reference: "Reference of the REST interface",
  openapi: "OpenAPI 3.1 document",
} as const;

/** State of the service for a visitor without a token. */
export interface StartState {
  readonly isReady: boolean;
  /** Sentence about the state, one of the texts; `{problem}` in it is the problem. */
  readonly text: string;
  /** Problem of the service, which is not translated. */
  readonly problem?: string;
  /** Sentence about the next step, one of the texts. */
  readonly next: string;
}

/** Link on the first page. */
export interface Link {
  /** Relative to the page, such as `console/`. */
  readonly href: string;
  readonly text: string;
}

/** Start page: name, version and state of the service, and the next step for its visitor. */
export interface StartPage {
  readonly name: string;
  readonly description: string;
  readonly state: StartState | undefined;
  readonly links: readonly Link[];
  /** Links to the contract. */
  readonly contract: readonly Link[];
  /** Language of the page, as a BCP 47 tag, with its translations. */
  readonly translation: { readonly language: string; readonly translate: (text: string) => string };
}

/** The content of a start page. */
export function startHtml({ name, state, links, contract, ...page }: StartPage): string {
  const say = (text: string): string => escapeHtml(page.translation.translate(text));
  const linkHtml = ({ href, text }: Link): string =>
    `<a href="${escapeHtml(href)}">${say(text)}</a>`;
  return [
    `<main class="start"><h1>${LOGO} ${escapeHtml(name)}</h1><p>${say(page.description)}</p>`,
    ...(state === undefined
      ? []
      : [
          `<p class="state ${state.isReady ? "good" : "bad"}">${say(state.text).replace("{problem}", () => escapeHtml(state.problem ?? ""))}</p>`,
          `<p>${say(state.next)}</p>`,
        ]),
    `<p class="links">${links.map(linkHtml).join(" ")}</p>`,
    ...(contract.length === 0
      ? []
      : [
          `<h2>${say(START_TEXTS.programs)}</h2><ul>${contract.map((link) => `<li>${linkHtml(link)}</li>`).join("")}</ul>`,
        ]),
    "</main>",
  ].join("");
}

/** The anchor of the console, without its colour. */
const LOGO =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="5" r="2.5"/><path d="M12 7.5V21M7 11h10M4 14c.6 4.200 4 7 8 7s7.400-2.800 8-7"/></svg>';
