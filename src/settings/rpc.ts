import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { SettingChangesSchema, type SettingInput } from "../../gen/mooring/v1/setting_pb.js";
import {
  DeleteSettingResponseSchema,
  ResetTokenResponseSchema,
  SaveSettingsResponseSchema,
  SetAria2ResponseSchema,
  SetQbittorrentResponseSchema,
  type SettingService as SettingServiceDesc,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { originOf } from "../audit/entry.ts";
import { dryRunOf, type Recorder } from "../audit/recorder.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import { expectedRevision } from "../ledger/etag.ts";
import { NO_RECORD, revisionOfRecord } from "../ledger/record-etag.ts";
import type { Changed } from "../ledger/writer.ts";
import { rejectViolations } from "../messages/error.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { message, type Text } from "../messages/message.ts";
import { describeChange } from "./change.ts";
import type { Skipped } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { changeToProto } from "./message.ts";
import { type ReadImpl, readImpl } from "./read-rpc.ts";
import { type Rights, rightsOfCaller, type SettingOrigin } from "./rights.ts";
import { isHidden, MAX_SAVE_ITEMS } from "./save.ts";
import type { SettingService } from "./setting-service.ts";

/** Methods of SettingService that read or change settings. */
type SettingImpl = ReadImpl &
  Pick<
    ServiceImpl<typeof SettingServiceDesc>,
    "saveSettings" | "deleteSetting" | "resetToken" | "setAria2" | "setQbittorrent"
  >;

/** @param audit counts reads of secrets in the clear, and dry runs with values for masked ones. */
export function settingImpl(
  service: SettingService,
  audit: Pick<Recorder, "note">,
  translations: (language: Language) => Translate = createTranslations(),
  pendingSites: PendingSites = () => [],
): SettingImpl {
  const sayIn = createSayIn(translations);
  const { snapshot } = service;
  const rights = (context: HandlerContext): Rights => rightsOfCaller(context, snapshot);
  const origin = (context: HandlerContext, reason = ""): SettingOrigin => ({
    ...originOf(context, reason),
    rights: rights(context),
  });
  const pending = createPendingReply(pendingSites, sayIn);
  /** Counts a dry run with values for masked secrets. */
  const noteGuesses = (
    inputs: readonly Pick<SettingInput, "key" | "value">[],
    context: HandlerContext,
  ): void => {
    const { isMasked } = rights(context);
    const subjects = inputs
      .filter(({ key, value }) => isHidden(snapshot().get(SETTINGS, key), value, isMasked))
      .map(({ key }) => key);
    if (subjects.length > 0) audit.note(dryRunOf(context, subjects));
  };
  return {
    ...readImpl(service, audit, translations),
    saveSettings: async (request, context) => {
      const { settings, dryRun, reason } = request;
      checkEtags(settings);
      const inputs = settings.map((input) => ({ ...input, seenEtag: input.etag }));
      const by = origin(context, reason);
      const changed = await service.save(inputs, by, {
        expectedRevision: await expectedRevision(service.line, request),
        dryRun,
      });
      const say = sayIn(context);
      const { result } = changed;
      if (dryRun) noteGuesses(inputs, context);
      return create(SaveSettingsResponseSchema, {
        revision: BigInt(changed.revision),
        skipped: result.map(({ key, reason: why }) => ({ key, reason: say(why) })),
        notice: say(noticeOf(result, dryRun)),
        pendingSites: dryRun ? [] : pending(context),
        ...(dryRun && { preview: create(SettingChangesSchema, { changes: changesOf(changed) }) }),
      });
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
  rejectViolations(wrong);
}

/** Maximum number of settings that a notice names. */
const NAMED = 10;

function listed(keys: readonly string[]): string {
  return `${keys.slice(0, NAMED).join(", ")}${keys.length > NAMED ? " …" : ""}`;
}

/** Notice about outdated values that stayed as they are; empty: none did. */
function noticeOf(settings: readonly Skipped[], dryRun: boolean): Text {
  const keys = settings.filter(({ isOutdated }) => isOutdated === true).map(({ key }) => key);
  if (keys.length === 0) return "";
  const words = message("NEWER_VALUES_STAY", { keys: listed(keys) });
  return dryRun ? words : message("OTHERS_WERE_SAVED", { words });
}

function changesOf({ commit }: Changed<unknown>) {
  return (commit?.changes ?? []).map(describeChange).map(changeToProto);
}
