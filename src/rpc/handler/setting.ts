import { create } from "@bufbuild/protobuf";
import { SettingChangesSchema } from "../../../gen/mooring/v1/setting_pb.js";
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
import type { SettingItem } from "../../service/setting/item.ts";
import type { SettingService } from "../../service/setting/setting.ts";
import type { Snapshot } from "../../service/setting/snapshot.ts";
import type { Changed } from "../../service/setting/writer.ts";
import type { Handlers } from "../method.ts";
import { changeToProto, settingToProto } from "./message.ts";
import { optionalNumber } from "./number.ts";
import { originOf } from "./origin.ts";
import { onePerKey } from "./reply.ts";

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
  const show = (snapshot: Snapshot, mask: boolean) => (item: SettingItem) =>
    settingToProto(item, {
      index: snapshot.indexOf(item.key),
      managed: service().managedBy(item.key) !== undefined,
      mask,
    });
  const oneSetting = (mask: boolean) =>
    onePerKey((snapshot, key) =>
      create(GetSettingResponseSchema, {
        setting: show(snapshot, mask)(service().get(key)),
        revision: BigInt(snapshot.revision),
      }),
    );
  const groupList = (mask: boolean) =>
    onePerKey((snapshot, groups) =>
      create(ListSettingsResponseSchema, {
        settings: service()
          .list(groups === "" ? [] : groups.split(",").map(Number))
          .map(show(snapshot, mask)),
        revision: BigInt(snapshot.revision),
      }),
    );
  const clear = { one: oneSetting(false), list: groupList(false) };
  const masked = { one: oneSetting(true), list: groupList(true) };
  return {
    listSettings: ({ groups, maskSecrets }) =>
      (maskSecrets ? masked : clear).list(service().snapshot(), groupKey(groups)),
    getSetting: ({ key, maskSecrets }) =>
      (maskSecrets ? masked : clear).one(service().snapshot(), key),
    batchGetSettings: ({ keys, maskSecrets }) => {
      const snapshot = service().snapshot();
      return create(BatchGetSettingsResponseSchema, {
        settings: service().batchGet(keys).map(show(snapshot, maskSecrets)),
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
