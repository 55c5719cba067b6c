import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type Setting,
  SettingChangesSchema,
  type SettingInput,
} from "../../gen/mooring/v1/setting_pb.js";
import {
  BatchGetSettingsResponseSchema,
  DeleteSettingResponseSchema,
  type GetSettingResponse,
  GetSettingResponseSchema,
  ListDefaultSettingsResponseSchema,
  type ListSettingsResponse,
  ListSettingsResponseSchema,
  ResetTokenResponseSchema,
  SaveSettingsResponseSchema,
  SetAria2ResponseSchema,
  SetQbittorrentResponseSchema,
  type SettingService as SettingServiceDesc,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { auditOriginOf, originOf } from "../audit/entry.ts";
import { dryRunOf, type Recorder } from "../audit/recorder.ts";
import { asPart } from "../gateway/rest/entity-tag.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import { etagOf, expectedRevision } from "../ledger/etag.ts";
import { NO_RECORD, revisionOfRecord } from "../ledger/record-etag.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { Changed } from "../ledger/writer.ts";
import { invalid } from "../messages/error.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createLanguageOf, createSayIn } from "../messages/localize.ts";
import { message } from "../messages/message.ts";
import { describeChange } from "./change.ts";
import type { SettingItem, Skipped } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { changeToProto, createSettingView } from "./message.ts";
import { clearsWithSnapshot, createReplyCache, memoizePerSnapshot, ReplyBudget } from "./reply.ts";
import { type Rights, rightsOfCaller, type SettingOrigin } from "./rights.ts";
import { isHidden, MAX_SAVE_ITEMS } from "./save.ts";
import type { SettingService } from "./setting.ts";
import { TOKEN_KEY } from "./token.ts";
import { MASK } from "./value.ts";

/** Options of every request that reads settings. */
interface Reading {
  readonly maskSecrets: boolean;
  readonly languageCode: string;
}

/** Read and write methods of SettingService. */
type SettingImpl = Pick<
  ServiceImpl<typeof SettingServiceDesc>,
  | "listSettings"
  | "listDefaultSettings"
  | "getSetting"
  | "batchGetSettings"
  | "saveSettings"
  | "deleteSetting"
  | "resetToken"
  | "setAria2"
  | "setQbittorrent"
>;

/** @param audit counts reads of secrets in the clear, and dry runs with values for masked ones. */
export function settingImpl(
  service: SettingService,
  audit: Pick<Recorder, "note">,
  translations: (language: Language) => Translate = createTranslations(),
  pendingSites: PendingSites = () => [],
): SettingImpl {
  const languageOf = createLanguageOf();
  const sayIn = createSayIn(translations);
  const replies = new ReplyBudget();
  const ofSnapshot = clearsWithSnapshot(replies);
  const snapshot = (): Snapshot => ofSnapshot(service.snapshot());
  const groupsOf = createGroupsOf();
  const rights = (context: HandlerContext): Rights => rightsOfCaller(context, snapshot);
  const origin = (context: HandlerContext, reason = ""): SettingOrigin => ({
    ...originOf(context, reason),
    rights: rights(context),
  });
  const pending = createPendingReply(pendingSites, sayIn);
  const skipped = (settings: readonly Skipped[], context: HandlerContext) => {
    if (settings.length === 0) return [];
    const say = sayIn(context);
    return settings.map(({ key, reason }) => ({ key, reason: say(reason) }));
  };
  const noticeOf = (settings: readonly Skipped[], dryRun: boolean, context: HandlerContext) => {
    const keys = settings.filter(({ isOutdated }) => isOutdated === true).map(({ key }) => key);
    if (keys.length === 0) return "";
    const words = message("NEWER_VALUES_STAY", { keys: listed(keys) });
    return sayIn(context)(dryRun ? words : message("OTHERS_WERE_SAVED", { words }));
  };
  const view = (mask: Mask, languageCode: Language) => {
    const translate = translations(languageCode);
    const show = createSettingView(service, MASKS[mask], translate);
    const part = mask === "nothing" ? "" : `without ${mask}`;
    const ones = createReplyCache<Snapshot, GetSettingResponse>(replies, ({ setting }) =>
      sizeOf(setting),
    );
    const one = (snapshot: Snapshot, key: string) =>
      ones(snapshot, key, () =>
        asPart(
          create(GetSettingResponseSchema, {
            setting: show(snapshot, service.get(key)),
            revision: BigInt(snapshot.revision),
            etag: etagOf(snapshot),
            languageCode,
          }),
          part,
        ),
      );
    const lists = createReplyCache<Snapshot, ListSettingsResponse>(replies, ({ settings }) =>
      settings.reduce((sum, setting) => sum + sizeOf(setting), 0),
    );
    const list = (
      snapshot: Snapshot,
      asked: readonly number[],
      { isLimited, kind, canReadItem }: Rights,
    ) => {
      const groups = groupsOf(snapshot, asked);
      const key = `${groups?.join(",") ?? "all"}\n${isLimited ? kind : ""}`;
      return lists(snapshot, key, () => {
        const items = groups?.length === 0 ? [] : service.list(groups ?? []);
        return asPart(
          create(ListSettingsResponseSchema, {
            settings: (isLimited ? items.filter(canReadItem) : items).map((item) =>
              show(snapshot, item),
            ),
            revision: BigInt(snapshot.revision),
            etag: etagOf(snapshot),
            languageCode,
          }),
          isLimited ? `${part}\n${kind}` : part,
        );
      });
    };
    return { show, one, list, part, languageCode, reveals: mask !== "secrets" };
  };
  const views = new Map<string, ReturnType<typeof view>>();
  /** Replies for a kind of request, created at the first one. */
  const viewOf = ({ maskSecrets, languageCode }: Reading, context: HandlerContext) => {
    const language = languageOf(context, languageCode);
    const mask = maskSecrets ? "secrets" : maskOf(rights(context));
    const key = `${language} ${mask}`;
    const made = views.get(key) ?? view(mask, language);
    views.set(key, made);
    return made;
  };
  const revealed = (context: HandlerContext, settings: readonly (Setting | undefined)[]): void => {
    const subjects = revealedIn(settings);
    if (subjects.length > 0)
      audit.note({ origin: auditOriginOf(context), outcome: "OK", subjects });
  };
  return {
    listSettings: (request, context) => {
      const { list, reveals } = viewOf(request, context);
      const reply = list(snapshot(), request.groups, rights(context));
      if (reveals) revealed(context, reply.settings);
      return reply;
    },
    listDefaultSettings: ({ groups, languageCode }, context) => {
      const { show, languageCode: language } = viewOf(
        { maskSecrets: false, languageCode },
        context,
      );
      return create(ListDefaultSettingsResponseSchema, {
        languageCode: language,
        settings: service
          .defaults(groups)
          .filter(rights(context).canReadItem)
          .map((item) => show(service.snapshot(), item)),
      });
    },
    getSetting: (request, context) => {
      rights(context).require([request.key]);
      const { one, reveals } = viewOf(request, context);
      const reply = one(snapshot(), request.key);
      if (reveals && reply.setting?.secret === true) revealed(context, [reply.setting]);
      return reply;
    },
    batchGetSettings: (request, context) => {
      const { keys } = request;
      rights(context).require(keys);
      const now = snapshot();
      const { show, part, languageCode, reveals } = viewOf(request, context);
      const settings = service.batchGet(keys).map((item) => show(now, item));
      if (reveals) revealed(context, settings);
      const revision = BigInt(now.revision);
      return asPart(
        create(BatchGetSettingsResponseSchema, {
          settings,
          revision,
          languageCode,
          etag: etagOf(now),
        }),
        part,
      );
    },
    saveSettings: async (request, context) => {
      const { settings, dryRun, reason } = request;
      checkEtags(settings);
      const inputs = settings.map((input) => ({ ...input, seenEtag: input.etag }));
      const by = origin(context, reason);
      const changed = await service.save(inputs, by, {
        expectedRevision: await expectedRevision(service.line, request),
        dryRun,
      });
      const reply = create(SaveSettingsResponseSchema, {
        revision: BigInt(changed.revision),
        skipped: skipped(changed.result, context),
        notice: noticeOf(changed.result, dryRun, context),
        pendingSites: dryRun ? [] : pending(context),
      });
      if (!dryRun) return reply;
      reply.preview = create(SettingChangesSchema, { changes: changesOf(changed) });
      const subjects = inputs
        .filter(({ key, value }) =>
          isHidden(snapshot().get(SETTINGS, key), value, rights(context).isMasked),
        )
        .map(({ key }) => key);
      if (subjects.length > 0) audit.note(dryRunOf(context, subjects));
      return reply;
    },
    deleteSetting: async (request, context) => {
      const { key, reason, expectedEtag } = request;
      const changed = await service.delete(key, origin(context, reason), { expectedEtag });
      return create(DeleteSettingResponseSchema, {
        revision: BigInt(changed.revision),
        pendingSites: pending(context),
      });
    },
    resetToken: async (_request, context) => {
      const { token, revision } = await service.resetToken(origin(context));
      return create(ResetTokenResponseSchema, { token, revision: BigInt(revision) });
    },
    setAria2: async ({ uri, secret }, context) => {
      const { version, revision } = await service.setAria2(
        { uri, secret },
        origin(context),
        context.signal,
      );
      return create(SetAria2ResponseSchema, { version, revision: BigInt(revision) });
    },
    setQbittorrent: async ({ url, seedtime }, context) => {
      const input = { url, seedtime };
      const by = origin(context);
      const { version, revision } = await service.setQbittorrent(input, by, context.signal);
      return create(SetQbittorrentResponseSchema, {
        status: "ok",
        version,
        revision: BigInt(revision),
      });
    },
  };
}

/** @throws INVALID_ARGUMENT for a text that is no etag of a setting. */
function checkEtags(settings: readonly SettingInput[]): void {
  const wrong = settings
    .slice(0, MAX_SAVE_ITEMS)
    .flatMap(({ etag = NO_RECORD, expectedEtag = NO_RECORD }, at) => [
      ...(revisionOfRecord(etag) === undefined ? [`settings[${at}].etag`] : []),
      ...(revisionOfRecord(expectedEtag) === undefined ? [`settings[${at}].expected_etag`] : []),
    ])
    .map((field) => ({ field, description: message("ETAG_INVALID", { field }) }));
  const [first, ...rest] = wrong;
  if (first !== undefined) throw invalid([first, ...rest]);
}

const known = new WeakMap<readonly (Setting | undefined)[], readonly string[]>();

/** Keys of secrets in a reply; searched once per cached list. */
function revealedIn(settings: readonly (Setting | undefined)[]): readonly string[] {
  const found =
    known.get(settings) ??
    settings.flatMap((setting) =>
      setting?.secret === true && setting.value !== "" && setting.value !== MASK
        ? [setting.key]
        : [],
    );
  known.set(settings, found);
  return found;
}

/** Masked values: none, all secrets, or only the permanent token, which grants every right. */
type Mask = "nothing" | "token" | "secrets";

const MASKS: Readonly<Record<Mask, (item: SettingItem) => boolean>> = {
  nothing: () => false,
  token: ({ key }) => key === TOKEN_KEY,
  secrets: ({ secret }) => secret,
};

function maskOf({ isMasked }: Rights): Mask {
  if (isMasked({ key: "", secret: true })) return "secrets";
  return isMasked({ key: TOKEN_KEY, secret: true }) ? "token" : "nothing";
}

/**
 * Creates a function that normalizes requested groups, so that equivalent requests share a reply:
 * sorted, without duplicates and empty groups. Undefined: all settings.
 */
function createGroupsOf() {
  const present = memoizePerSnapshot(
    (snapshot) => new Set([...snapshot.of(SETTINGS).items()].map(({ group }) => group)),
  );
  return (snapshot: Snapshot, asked: readonly number[]): readonly number[] | undefined => {
    if (asked.length === 0) return undefined;
    const all = present(snapshot);
    const groups = [...new Set(asked)].filter((group) => all.has(group));
    return groups.length === all.size ? undefined : groups.sort((a, b) => a - b);
  };
}

/** Size of a setting's message without its texts, in bytes. */
const SETTING_SIZE = 512;

/** Approximate size of a setting in a reply, in bytes. */
function sizeOf(setting: Setting | undefined): number {
  if (setting === undefined) return SETTING_SIZE;
  const { key, value, help, options } = setting;
  return SETTING_SIZE + key.length + value.length + help.length + options.length;
}

/** Maximum number of settings that a notice names. */
const NAMED = 10;

function listed(keys: readonly string[]): string {
  return `${keys.slice(0, NAMED).join(", ")}${keys.length > NAMED ? " …" : ""}`;
}

function changesOf({ commit }: Changed<unknown>) {
  return (commit?.changes ?? []).map(describeChange).map(changeToProto);
}
