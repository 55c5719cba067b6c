import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import type { Setting } from "../../gen/mooring/v1/setting_pb.js";
import {
  type SaveSettingsRequest,
  SaveSettingsRequestSchema,
  type SaveSettingsResponse,
  type SetAria2Request,
  type SetQbittorrentRequest,
  SettingService,
  SkippedSettingSchema,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { type Caller, createGrant, SCOPES } from "../access/grant.ts";
import type { Call } from "../gateway/call.ts";
import type { Violation } from "../messages/error.ts";
import { denied, errorDetails, failedPrecondition } from "../messages/error.ts";
import { chooseLanguage, type Language, type Translate } from "../messages/language.ts";
import { message as sentence, type Text, textIn } from "../messages/message.ts";
import { TOKEN_KEY } from "../settings/token.ts";
import { MASK } from "../settings/value.ts";
import { SiteFailure } from "../sync/failure.ts";
import { Fault } from "../transport/body.ts";
import type { UpstreamRefusedValue } from "./delivery.ts";
import { OWN_ROWS } from "./own-rows.ts";
import { VISITOR_ACTOR, type Visitor } from "./session.ts";
import type { Upstream } from "./upstream.ts";
import { createUpstreamView } from "./view.ts";

/** Header with the delivery of a save to the upstream: `applied`, `pending` or `refused`. */
const DELIVERY_HEADER = "mooring-upstream";

/** Rights of an admin of the upstream: all scopes except `tokens:manage`. Only root has Mooring's permanent token. */
const VISITOR = createGrant(
  SCOPES.filter((scope) => scope !== "tokens:manage"),
  [],
);

const { method: setting } = SettingService;

/** Methods that change settings, and so the upstream. */
const CHANGES: ReadonlySet<DescMethod> = new Set<DescMethod>([
  setting.saveSettings,
  setting.deleteSetting,
  setting.rollback,
  BackupService.method.importArchive,
  BackupService.method.restoreBackup,
  setting.setAria2,
  setting.setQbittorrent,
]);

/** The identity cannot be read from the upstream: HTTP 502. */
class BadGateway extends Fault {
  override readonly status = 502;
}

/** The upstream refused a value, which Mooring therefore does not keep either. */
class UpstreamRefusal extends Fault {
  /** Code of the upstream's envelope: 400 to 599. */
  override readonly envelopeCode: number;

  readonly text: Text;
  readonly violations: readonly Violation[];

  constructor(text: Text, envelopeCode: number, violations: readonly Violation[]) {
    const details = errorDetails(text, violations);
    super(String(text), Code.FailedPrecondition, { [DELIVERY_HEADER]: "refused" }, details);
    this.text = text;
    this.violations = violations;
    this.envelopeCode = envelopeCode;
  }
}

/**
 * Caller for an admin of the upstream, with all rights except those on Mooring's tokens.
 *
 * @throws UNAUTHENTICATED with the upstream's message; PERMISSION_DENIED for other users;
 *   UNAVAILABLE when the upstream does not answer.
 */
export async function admitVisitor(visitor: Visitor | Promise<Visitor>): Promise<Caller> {
  const found = await visitor;
  switch (found.kind) {
    case "admin":
      return { name: `${VISITOR_ACTOR}${found.name}`, tokenId: "", grant: VISITOR };
    case "user":
      throw denied(sentence("NOT_ADMIN"));
    case "refused":
      throw new ConnectError(found.words, Code.Unauthenticated);
    default:
      throw new BadGateway(
        String(sentence("VISITOR_UNKNOWN", { words: found.words })),
        Code.Unavailable,
      );
  }
}

/**
 * Behaviour in front of an upstream: its admins have every right except to Mooring's token, its
 * token and version replace Mooring's, and a change waits until it has arrived.
 */
export function upstreamInterceptor(
  behind: Upstream,
  translations: (language: Language) => Translate,
): Interceptor {
  const show = createUpstreamView();
  return (next) => async (request) => {
    const { call = undefined } = request as { readonly call?: Call };
    const isVisitor = call?.actor?.startsWith(VISITOR_ACTOR) === true;
    const { method } = request;
    if (request.stream) {
      const response = await next(request);
      if (!response.stream) return response;
      // Events show no secrets.
      const visitor = isVisitor ? { masksSecrets: true } : undefined;
      const message = each(response.message, (event) => show(event, method, behind, visitor));
      return { ...withHeads(response), message } as typeof response;
    }
    // Clients also send back values that were shown before a restart.
    if (isVisitor && hasOwnRows(request.message as Message)) await behind.ownRows.refresh();
    const requested = isVisitor ? ownLeftOut(method, request.message, behind) : request.message;
    const response = await next(
      requested === request.message
        ? request
        : ({ ...request, message: requested } as typeof request),
    );
    if (response.stream) return response;
    const { maskSecrets = false } = requested as { maskSecrets?: boolean };
    const visitor = isVisitor ? { masksSecrets: maskSecrets } : undefined;
    if (isVisitor && method === setting.saveSettings) {
      const accepted = request.header.get("accept-language") ?? undefined;
      const translate = translations(chooseLanguage("", accepted));
      nameUnsaved(request.message as SaveSettingsRequest, response.message, behind, translate);
    }
    if (isVisitor && hasOwnRows(response.message as Message)) await behind.ownRows.refresh();
    const message = show(response.message as Message, method, behind, visitor);
    if (CHANGES.has(method)) {
      await connectManager(method, requested as Message, behind);
      const { revision = 0n } = response.message as { revision?: bigint };
      const { dryRun = false } = requested as { dryRun?: boolean };
      const delivery = dryRun ? undefined : await behind.delivered(Number(revision));
      if (delivery?.outcome === "refused")
        throw refusal(delivery.refusals, method, request.message as Message);
      if (delivery !== undefined) response.header.set(DELIVERY_HEADER, delivery.outcome);
    }
    return message === response.message
      ? response
      : ({ ...withHeads(response), message } as typeof response);
  };
}

/** Error for a caller whose values the upstream refused, with the upstream's message. */
function refusal(
  refusals: readonly UpstreamRefusedValue[],
  method: DescMethod,
  message: Message,
): UpstreamRefusal {
  const sent = method === setting.saveSettings ? (message as SaveSettingsRequest).settings : [];
  const placeOf = ({ key }: UpstreamRefusedValue) => sent.findIndex((item) => item.key === key);
  const inOrder = [...refusals].sort((a, b) => placeOf(a) - placeOf(b));
  const violations = inOrder.map((one): Violation => {
    const at = placeOf(one);
    return { field: at < 0 ? one.key : `settings[${at}].value`, description: one.reason };
  });
  const [first] = inOrder;
  const { reason = "", code = 0, isPart = false } = first ?? {};
  const count = refusals.length - 1;
  const words = count === 0 ? reason : sentence("AND_MORE", { problem: reason, count });
  const text = isPart ? sentence("OTHERS_WERE_SAVED", { words }) : words;
  const isCode = Number.isInteger(code) && code >= 400 && code <= 599;
  return new UpstreamRefusal(text, isCode ? code : 500, violations);
}

/** Copy with header and trailer, which may be created lazily. */
function withHeads<R extends { readonly header: Headers; readonly trailer: Headers }>(reply: R): R {
  return { ...reply, header: reply.header, trailer: reply.trailer };
}

async function* each(
  events: AsyncIterable<unknown>,
  show: (event: Message) => Message,
): AsyncIterable<Message> {
  for await (const event of events) yield show(event as Message);
}

/** Reports whether a request or reply has settings whose values come from the upstream alone. */
function hasOwnRows(message: Message): boolean {
  const { setting: one, settings } = message as {
    readonly setting?: Pick<Setting, "key">;
    readonly settings?: readonly Pick<Setting, "key">[];
  };
  const shown = Array.isArray(settings) ? settings : one === undefined ? [] : [one];
  return shown.some(({ key }) => OWN_ROWS.has(key));
}

/** Settings of the upstream's own that no save changes. */
const NEVER_SAVED: ReadonlySet<string> = new Set(["token", "version", "index_progress"]);

/** Pages send whole lists, with the upstream's own values unchanged. */
function ownLeftOut(method: DescMethod, message: unknown, behind: Upstream): Message {
  if (method !== setting.saveSettings) return message as Message;
  const request = message as SaveSettingsRequest;
  const rows = behind.ownRows.last();
  const settings = request.settings.filter(
    ({ key, value }) => !NEVER_SAVED.has(key) && rows.get(key)?.value !== (value ?? ""),
  );
  return settings.length === request.settings.length
    ? request
    : create(SaveSettingsRequestSchema, { ...request, settings });
}

/**
 * Names the upstream's own settings with another value than it has. A page may send old values of
 * those that the server writes itself; a token is set by a user, and gets a notice.
 */
function nameUnsaved(
  { settings, dryRun }: SaveSettingsRequest,
  response: unknown,
  behind: Upstream,
  translate: Translate,
): void {
  const own = new Map([
    ["version", behind.version()],
    [TOKEN_KEY, behind.token()],
    ["index_progress", behind.ownRows.last().get("index_progress")?.value],
  ]);
  const changed = settings.filter(
    ({ key, value }) =>
      NEVER_SAVED.has(key) && value !== undefined && value !== MASK && value !== own.get(key),
  );
  const reply = response as SaveSettingsResponse;
  for (const { key } of changed)
    reply.skipped.push(
      create(SkippedSettingSchema, { key, reason: textIn(sentence("UPSTREAM_OWN"), translate) }),
    );
  if (reply.notice !== "" || !changed.some(({ key }) => key === TOKEN_KEY)) return;
  const words = sentence("UPSTREAM_OWN_STAYS", { key: TOKEN_KEY });
  reply.notice = textIn(dryRun ? words : sentence("OTHERS_WERE_SAVED", { words }), translate);
}

async function connectManager(
  method: DescMethod,
  message: Message,
  behind: Upstream,
): Promise<void> {
  try {
    if (method === setting.setAria2) {
      const { uri = "", secret = "" } = message as SetAria2Request;
      await behind.connect("set_aria2", { uri, secret });
    } else if (method === setting.setQbittorrent) {
      const { url = "", seedtime = 0 } = message as SetQbittorrentRequest;
      await behind.connect("set_qbit", { url, seedtime: String(seedtime) });
    }
  } catch (error) {
    if (!(error instanceof SiteFailure)) throw error;
    throw failedPrecondition(
      sentence("UPSTREAM_NOT_CONNECTED", { words: error.words || error.message }),
    );
  }
}
