import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Setting } from "../../gen/mooring/v1/setting_pb.js";
import {
  BatchGetSettingsResponseSchema,
  type GetSettingResponse,
  GetSettingResponseSchema,
  ListDefaultSettingsResponseSchema,
  type ListSettingsResponse,
  ListSettingsResponseSchema,
  type SettingService as SettingServiceDesc,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { auditOriginOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { asPart } from "../gateway/rest/entity-tag.ts";
import { etagOf } from "../ledger/etag.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf } from "../messages/localize.ts";
import type { SettingItem } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { createSettingView } from "./message.ts";
import { clearsWithSnapshot, createReplyCache, memoizePerSnapshot, ReplyBudget } from "./reply.ts";
import { type Rights, rightsOfCaller } from "./rights.ts";
import type { SettingService } from "./setting-service.ts";
import { TOKEN_KEY } from "./token.ts";
import { MASK } from "./value.ts";

/** Methods of SettingService that read settings. */
export type ReadImpl = Pick<
  ServiceImpl<typeof SettingServiceDesc>,
  "listSettings" | "listDefaultSettings" | "getSetting" | "batchGetSettings"
>;

/** Options of every request that reads settings. */
interface Reading {
  readonly maskSecrets: boolean;
  readonly languageCode: string;
}

/** @param audit counts reads of secrets in the clear. */
export function readImpl(
  service: SettingService,
  audit: Pick<Recorder, "note">,
  translations: (language: Language) => Translate,
): ReadImpl {
  const languageOf = createLanguageOf();
  const replies = new ReplyBudget();
  const ofSnapshot = clearsWithSnapshot(replies);
  const snapshot = (): Snapshot => ofSnapshot(service.snapshot());
  const deps = { service, replies, translations, groupsOf: createGroupsOf() };
  const rights = (context: HandlerContext): Rights => rightsOfCaller(context, snapshot);
  const views = new Map<string, ReturnType<typeof createView>>();
  /** Replies for a kind of request, created at the first one. */
  const viewOf = ({ maskSecrets, languageCode }: Reading, context: HandlerContext) => {
    const language = languageOf(context, languageCode);
    const mask = maskSecrets ? "secrets" : maskOf(rights(context));
    const key = `${language} ${mask}`;
    const made = views.get(key) ?? createView(deps, mask, language);
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
  };
}

interface ViewDeps {
  readonly service: SettingService;
  readonly replies: ReplyBudget;
  readonly groupsOf: ReturnType<typeof createGroupsOf>;
  readonly translations: (language: Language) => Translate;
}

/** Replies for one mask and language. */
function createView(
  { service, replies, groupsOf, translations }: ViewDeps,
  mask: Mask,
  languageCode: Language,
) {
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
    { isLimited, limitsKey, canReadItem }: Rights,
  ) => {
    const groups = groupsOf(snapshot, asked);
    const key = `${groups?.join(",") ?? "all"}\n${isLimited ? limitsKey : ""}`;
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
        isLimited ? `${part}\n${limitsKey}` : part,
      );
    });
  };
  return { show, one, list, part, languageCode, reveals: mask !== "secrets" };
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
