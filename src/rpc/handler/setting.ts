import { create } from "@bufbuild/protobuf";
import { type Setting, SettingChangesSchema } from "../../../gen/mooring/v1/setting_pb.js";
import {
  BatchGetSettingsResponseSchema,
  DeleteSettingResponseSchema,
  GetSettingResponseSchema,
  ListSettingsResponseSchema,
  ResetTokenResponseSchema,
  RollbackResponseSchema,
  SaveSettingsResponseSchema,
  SetAria2ResponseSchema,
  SetQbittorrentResponseSchema,
  type SettingService as SettingServiceDesc,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { describeChange } from "../../service/setting/change.ts";
import type { SettingService } from "../../service/setting/setting.ts";
import type { Changed } from "../../service/setting/writer.ts";
import { mapInTurns } from "../in-turns.ts";
import type { Handlers } from "../method.ts";
import { changeToProto } from "./message.ts";
import { optionalNumber } from "./number.ts";
import { originOf } from "./origin.ts";
import { onePerKey } from "./reply.ts";
import { createSettingView } from "./setting-view.ts";

/** The handlers of this file: reading and changing settings. */
export type SettingHandlers = Pick<
  Handlers<typeof SettingServiceDesc>,
  | "listSettings"
  | "getSetting"
  | "batchGetSettings"
  | "saveSettings"
  | "deleteSetting"
  | "rollback"
  | "resetToken"
  | "setAria2"
  | "setQbittorrent"
>;

export function settingHandlers(service: () => SettingService): SettingHandlers {
  const view = (mask: boolean) => {
    const show = createSettingView((key) => service().managedBy(key), mask);
    const one = onePerKey((snapshot, key) =>
      create(GetSettingResponseSchema, {
        setting: show(snapshot, service().get(key)),
        revision: BigInt(snapshot.revision),
      }),
    );
    const list = onePerKey((snapshot, groups) => {
      const items = service().list(groups === "" ? [] : groups.split(",").map(Number));
      const settings = mapInTurns(items, (item) => show(snapshot, item));
      const reply = (shown: Setting[]) =>
        create(ListSettingsResponseSchema, {
          settings: shown,
          revision: BigInt(snapshot.revision),
        });
      return settings instanceof Promise ? settings.then(reply) : reply(settings);
    });
    return { show, one, list };
  };
  const clear = view(false);
  const masked = view(true);
  return {
    listSettings: ({ groups, maskSecrets }) =>
      (maskSecrets ? masked : clear).list(service().snapshot(), groupKey(groups)),
    getSetting: ({ key, maskSecrets }) =>
      (maskSecrets ? masked : clear).one(service().snapshot(), key),
    batchGetSettings: ({ keys, maskSecrets }) => {
      const snapshot = service().snapshot();
      const { show } = maskSecrets ? masked : clear;
      return create(BatchGetSettingsResponseSchema, {
        settings: service()
          .batchGet(keys)
          .map((item) => show(snapshot, item)),
        revision: BigInt(snapshot.revision),
      });
    },
    saveSettings: async ({ settings, expectedRevision, dryRun, reason }, call) => {
      const inputs = settings.map((input) => ({
        ...input,
        expectedRevision: optionalNumber(input.expectedRevision),
      }));
      const changed = await service().save(inputs, originOf(call, "SaveSettings", reason), {
        expectedRevision: optionalNumber(expectedRevision),
        dryRun,
      });
      return create(SaveSettingsResponseSchema, {
        revision: BigInt(changed.revision),
        ...(dryRun
          ? { preview: create(SettingChangesSchema, { changes: changesOf(changed) }) }
          : {}),
      });
    },
    deleteSetting: async ({ key, expectedRevision, reason }, call) => {
      const { revision } = await service().delete(key, originOf(call, "DeleteSetting", reason), {
        expectedRevision: optionalNumber(expectedRevision),
      });
      return create(DeleteSettingResponseSchema, { revision: BigInt(revision) });
    },
    rollback: async ({ to, keys, expectedRevision, dryRun, reason }, call) => {
      const changed = await service().rollback(
        { revision: Number(to), keys },
        originOf(call, "Rollback", reason),
        { expectedRevision: optionalNumber(expectedRevision), dryRun },
      );
      return create(RollbackResponseSchema, {
        revision: BigInt(changed.revision),
        changes: changesOf(changed),
        skipped: [...changed.result],
      });
    },
    resetToken: async (_request, call) => {
      const { token, revision } = await service().resetToken(originOf(call, "ResetToken"));
      return create(ResetTokenResponseSchema, { token, revision: BigInt(revision) });
    },
    setAria2: async ({ uri, secret }, call) => {
      const origin = originOf(call, "SetAria2");
      const { version, revision } = await service().setAria2({ uri, secret }, origin, call.signal);
      return create(SetAria2ResponseSchema, { version, revision: BigInt(revision) });
    },
    setQbittorrent: async ({ url, seedtime }, call) => {
      const input = { url, seedtime };
      const origin = originOf(call, "SetQbittorrent");
      const { version, revision } = await service().setQbittorrent(input, origin, call.signal);
      return create(SetQbittorrentResponseSchema, {
        status: "ok",
        version,
        revision: BigInt(revision),
      });
    },
  };
}

/** One name for the same groups in any order. */
function groupKey(groups: readonly number[]): string {
  return [...new Set(groups)].sort((a, b) => a - b).join(",");
}

function changesOf({ commit }: Changed<unknown>) {
  return (commit?.changes ?? []).map(describeChange).map(changeToProto);
}
