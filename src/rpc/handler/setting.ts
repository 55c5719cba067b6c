import { create } from "@bufbuild/protobuf";
import { type Setting, SettingSchema } from "../../../gen/mooring/v1/setting_pb.js";
import {
  BatchGetSettingsResponseSchema,
  DeleteSettingResponseSchema,
  GetSettingResponseSchema,
  ListSettingsResponseSchema,
  ResetTokenResponseSchema,
  SaveSettingsResponseSchema,
  SetAria2ResponseSchema,
  SetQbittorrentResponseSchema,
  type SettingService as SettingServiceDesc,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { SettingItem } from "../../service/setting/item.ts";
import type { SettingService } from "../../service/setting/setting.ts";
import type { Snapshot } from "../../service/setting/snapshot.ts";
import type { Handlers } from "../method.ts";
import { originOf } from "./origin.ts";
import { onePerKey } from "./reply.ts";

/** Handlers of mooring.v1.SettingService. */
export function settingHandlers(
  service: () => SettingService,
): Handlers<typeof SettingServiceDesc> {
  const oneSetting = onePerKey((snapshot, key) =>
    create(GetSettingResponseSchema, {
      setting: toProto(service().get(key), snapshot),
      revision: BigInt(snapshot.revision),
    }),
  );
  const groupList = onePerKey((snapshot, groups) =>
    create(ListSettingsResponseSchema, {
      settings: service()
        .list(groups === "" ? [] : groups.split(",").map(Number))
        .map((item) => toProto(item, snapshot)),
      revision: BigInt(snapshot.revision),
    }),
  );
  return {
    listSettings: ({ groups }) =>
      groupList(service().snapshot(), [...new Set(groups)].sort((a, b) => a - b).join(",")),
    getSetting: ({ key }) => oneSetting(service().snapshot(), key),
    batchGetSettings: ({ keys }) => {
      const snapshot = service().snapshot();
      return create(BatchGetSettingsResponseSchema, {
        settings: service()
          .batchGet(keys)
          .map((item) => toProto(item, snapshot)),
        revision: BigInt(snapshot.revision),
      });
    },
    saveSettings: async ({ settings }, call) => {
      const { revision } = await service().save(settings, originOf(call, "SaveSettings"));
      return create(SaveSettingsResponseSchema, { revision: BigInt(revision) });
    },
    deleteSetting: async ({ key }, call) => {
      const { revision } = await service().delete(key, originOf(call, "DeleteSetting"));
      return create(DeleteSettingResponseSchema, { revision: BigInt(revision) });
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
      const origin = originOf(call, "SetQbittorrent");
      const { version, revision } = await service().setQbittorrent(
        { url, seedtime },
        origin,
        call.signal,
      );
      return create(SetQbittorrentResponseSchema, {
        status: "ok",
        version,
        revision: BigInt(revision),
      });
    },
  };
}

/** Messages of items, each made once: an item never changes. */
const messages = new WeakMap<SettingItem, Setting>();

function toProto(item: SettingItem, snapshot: Snapshot): Setting {
  const made = messages.get(item);
  if (made !== undefined) return made;
  const { key, value, help, type, options, group, flag } = item;
  const index = snapshot.indexOf(key);
  const message = create(SettingSchema, { key, value, help, type, options, group, flag, index });
  messages.set(item, message);
  return message;
}
