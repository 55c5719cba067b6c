import { rejectViolations, type Violation } from "../../messages/error.ts";
import { type Message, message, problemAt } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import { MASK } from "../../settings/value.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { CLASSES, type IncidentClass } from "../incident.ts";
import type { FormatOptions } from "./format/format.ts";
import { FORMAT_OF, FORMATS, type WebhookFormat } from "./format/formats.ts";
import { keyProblem, newKey } from "./send.ts";

/** Languages of notifications. */
const WEBHOOK_LANGUAGES = ["en", "zh-CN"] as const;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MAX_URL = 2_000;
const MAX_SITES = 200;

/** Target of notifications. Frozen. */
export interface Webhook extends FormatOptions {
  /** Never changes. */
  readonly id: string;
  /** 1 to 64 letters, digits, `.`, `_` and `-`. Unique. */
  readonly name: string;
  readonly format: WebhookFormat;
  readonly url: string;
  /** Key of the signatures: `whsec_` and base64. */
  readonly secret: string;
  /** Empty: all. */
  readonly classes: readonly IncidentClass[];
  /** Whether incidents of the class `unknown` are not sent, unless it is listed. */
  readonly withoutUnknown: boolean;
  /** Ids of sites. Empty: all. */
  readonly siteIds: readonly string[];
  readonly language: string;
  readonly disabled: boolean;
  /** Milliseconds since 1970 UTC. */
  readonly createdAt: number;
  readonly createdBy: string;
}

/** A client's input for a webhook. Undefined members stay unchanged. */
export type WebhookInput = {
  readonly [M in
    | "name"
    | "format"
    | keyof FormatOptions
    | "url"
    | "secret"
    | "classes"
    | "withoutUnknown"
    | "language"
    | "disabled"]?: Webhook[M] | undefined;
} & {
  /** Names of sites. Empty: all. */
  readonly sites?: readonly string[] | undefined;
};

/**
 * Reports whether a webhook is notified of a class. The cause of an `unknown` incident may be any of
 * the classes, so that a webhook with some classes gets it too, unless it says otherwise.
 */
export function wantsClass(
  { classes, withoutUnknown }: Pick<Webhook, "classes" | "withoutUnknown">,
  kind: IncidentClass,
): boolean {
  if (classes.length === 0 || classes.includes(kind)) return true;
  return kind === "unknown" && !withoutUnknown;
}

/** Members that only the permanent token reads. */
export const SECRETS = ["url", "secret", "token", "headers"] as const;

export function isSecret(name: string): name is (typeof SECRETS)[number] {
  return SECRETS.some((each) => each === name);
}

/** Members of a webhook that differ after a change. */
export function changedMembers(
  before: Webhook,
  after: Webhook,
  {
    input,
    reveals,
  }: {
    readonly input: WebhookInput;
    /** Whether the caller may read address, keys and headers. Otherwise, sent ones count as changed. */
    readonly reveals: boolean;
  },
): (keyof Webhook)[] {
  const names = Object.keys(after) as (keyof Webhook)[];
  return names.filter(
    (name) =>
      JSON.stringify(before[name]) !== JSON.stringify(after[name]) ||
      (!reveals && isSecret(name) && input[name] !== undefined),
  );
}

/** A webhook before the input of its creator. */
export function newWebhook(id: string, createdAt: number, createdBy: string): Webhook {
  return {
    id,
    name: "",
    format: "standard",
    url: "",
    secret: newKey(),
    ...NO_OPTIONS,
    classes: [],
    withoutUnknown: false,
    siteIds: [],
    language: "en",
    disabled: false,
    createdAt,
    createdBy,
  };
}

/** Options of a webhook whose format has none. */
export const NO_OPTIONS: FormatOptions = {
  token: "",
  chat: "",
  template: "",
  contentType: "application/json",
  method: "POST",
  headers: {},
};

/**
 * Secrets that the client has to give again, because the webhook would send them to another address:
 * the client may not know them.
 */
function redirectionProblems(
  before: Webhook,
  next: Webhook,
  input: WebhookInput,
): (readonly [field: string, problem: Message])[] {
  if (before.url === "" || URL.parse(next.url)?.origin === URL.parse(before.url)?.origin) return [];
  const again = message("KEPT_SECRET_REDIRECTED", { by: "url" });
  const isKept = {
    secret: FORMAT_OF[next.format].isSigned && input.secret === undefined,
    token: next.token !== "" && input.token === undefined,
    headers: Object.keys(next.headers).some(
      (name) => input.headers === undefined || ownValue(input.headers, name) === MASK,
    ),
  };
  return Object.entries(isKept).flatMap(([field, kept]) => (kept ? [[field, again] as const] : []));
}

/**
 * Applies a client's input to a webhook. A disabled one may lack what its format needs, as after an
 * import without secrets.
 *
 * @throws INVALID_ARGUMENT with every violation; none has an address or a key.
 */
export function withWebhookInput(
  webhook: Webhook,
  { sites: siteNames, ...input }: WebhookInput,
  sites: Pick<SiteNames, "problemOf" | "idOf">,
): Webhook {
  const given = Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined),
  );
  const siteIds = siteNames?.map((name) => sites.idOf(name) ?? "") ?? webhook.siteIds;
  const headers = unmasked(input.headers ?? webhook.headers, webhook.headers);
  const merged: Webhook = { ...webhook, ...given, siteIds, headers };
  const format = FORMAT_OF[merged.format];
  const url = merged.url === "" ? (format?.defaultUrl ?? "") : merged.url;
  const next: Webhook = Object.freeze({ ...merged, url });
  const problems: (readonly [field: string, problem: Message | undefined])[] = [
    ["name", NAME.test(next.name) ? undefined : message("NAME_INVALID")],
    ["url", urlProblem(next.url)],
    ["secret", keyProblem(next.secret)],
    [
      "format",
      FORMATS.includes(next.format)
        ? undefined
        : message("VALUE_UNKNOWN", { names: FORMATS.join(", ") }),
    ],
    ...(next.disabled || urlProblem(next.url) !== undefined ? [] : (format?.problems(next) ?? [])),
    ...redirectionProblems(webhook, next, input),
    ...Object.entries(next.headers).flatMap(([name, value]) =>
      value === MASK ? [["headers", message("HEADER_MASKED", { name })] as const] : [],
    ),
    [
      "classes",
      next.classes.every((each) => CLASSES.includes(each))
        ? undefined
        : message("VALUES_UNKNOWN", { names: CLASSES.join(", ") }),
    ],
    [
      "sites",
      next.siteIds.length <= MAX_SITES
        ? undefined
        : message("SITE_NAMES_INVALID", { most: MAX_SITES }),
    ],
    ...(siteNames ?? [])
      .slice(0, MAX_SITES)
      .map((site): [string, Message | undefined] => ["sites", sites.problemOf(site)]),
    [
      "language",
      WEBHOOK_LANGUAGES.some((each) => each === next.language)
        ? undefined
        : message("VALUE_UNKNOWN", { names: WEBHOOK_LANGUAGES.join(", ") }),
    ],
  ];
  const violations = problems.flatMap(([field, problem]): Violation[] =>
    problem === undefined ? [] : [{ field, description: problemAt(field, problem) }],
  );
  rejectViolations(violations);
  return next;
}

/** Headers whose value is the mask of a secret stay as they are. */
function unmasked(
  headers: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    value === MASK ? (ownValue(before, name) ?? MASK) : value,
  ]);
  return Object.fromEntries(entries);
}

function urlProblem(text: string): Message | undefined {
  if (text.length > MAX_URL) return message("TEXT_TOO_LONG", { most: MAX_URL });
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol))
    return message("WEBHOOK_URL_INVALID");
  return url.username !== "" || url.password !== "" ? message("WEBHOOK_URL_WITH_USER") : undefined;
}
