import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import {
  type GetPublicSettingsResponse,
  GetPublicSettingsResponseSchema,
  PublicService,
  type WatchPublicSettingsResponse,
  WatchPublicSettingsResponseSchema,
} from "../../gen/mooring/v1/public_service_pb.js";
import {
  type Setting,
  type SettingChange,
  SettingChangeSchema,
  SettingSchema,
} from "../../gen/mooring/v1/setting_pb.js";
import {
  type BatchGetSettingsResponse,
  BatchGetSettingsResponseSchema,
  type GetSettingResponse,
  GetSettingResponseSchema,
  type ListSettingsResponse,
  ListSettingsResponseSchema,
  SettingService,
  type WatchSettingsResponse,
  WatchSettingsResponseSchema,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { MASK } from "../service/setting/value.ts";
import type { Upstream } from "../service/site/upstream.ts";

/** What an upstream says of itself. */
interface Own {
  readonly version: string;
  readonly token: string;
}

type Show = (message: never, own: Own) => Message;

/**
 * Shows replies and events as the upstream would: its version stands in what everybody may read, its
 * version and token in what its admins read. Mooring's own token keeps Mooring's own view: its
 * programs compare it with what they hold. Each message is made once.
 */
export function createUpstreamView() {
  let made = new WeakMap<Message, Message>();
  let madeFor = "";
  return (message: Message, method: DescMethod, behind: Upstream, isVisitor: boolean): Message => {
    const show = forEverybody.get(method) ?? (isVisitor ? forVisitors.get(method) : undefined);
    if (show === undefined || !behind.isReady()) return message;
    const own = { version: behind.version(), token: behind.token() };
    if (madeFor !== `${own.version}\n${own.token}`) {
      made = new WeakMap();
      madeFor = `${own.version}\n${own.token}`;
    }
    const known = made.get(message) ?? show(message as never, own);
    made.set(message, known);
    return known;
  };
}

const forEverybody: ReadonlyMap<DescMethod, Show> = new Map<DescMethod, Show>([
  [
    PublicService.method.getPublicSettings,
    (reply: GetPublicSettingsResponse, own) =>
      create(GetPublicSettingsResponseSchema, {
        ...reply,
        settings: { ...reply.settings, version: own.version },
      }),
  ],
  [PublicService.method.watchPublicSettings, publicEvent],
]);

const { method: setting } = SettingService;

const forVisitors: ReadonlyMap<DescMethod, Show> = new Map<DescMethod, Show>([
  [
    setting.listSettings,
    ({ settings, revision }: ListSettingsResponse, own) =>
      create(ListSettingsResponseSchema, { settings: settings.map(ownSetting(own)), revision }),
  ],
  [
    setting.batchGetSettings,
    ({ settings, revision }: BatchGetSettingsResponse, own) =>
      create(BatchGetSettingsResponseSchema, { settings: settings.map(ownSetting(own)), revision }),
  ],
  [
    setting.getSetting,
    ({ setting: found, revision }: GetSettingResponse, own) =>
      create(GetSettingResponseSchema, {
        revision,
        ...(found === undefined ? {} : { setting: ownSetting(own)(found) }),
      }),
  ],
  [setting.watchSettings, settingsEvent],
]);

function ownSetting({ version, token }: Own) {
  return (each: Setting): Setting => {
    if (each.key === "version") return create(SettingSchema, { ...each, value: version });
    if (each.key !== "token") return each;
    return create(SettingSchema, { ...each, value: each.value === MASK ? MASK : token });
  };
}

function publicEvent(message: WatchPublicSettingsResponse, { version }: Own): Message {
  const { revision, event } = message;
  if (event.case === "snapshot") {
    const settings = { ...event.value.settings, version };
    return create(WatchPublicSettingsResponseSchema, {
      revision,
      event: { case: "snapshot", value: { settings } },
    });
  }
  if (event.case !== "change" || event.value.set["version"] === undefined) return message;
  const { set, removed } = event.value;
  return create(WatchPublicSettingsResponseSchema, {
    revision,
    event: { case: "change", value: { set: { ...set, version }, removed } },
  });
}

function settingsEvent(message: WatchSettingsResponse, own: Own): Message {
  const { revision, event } = message;
  if (event.case === "snapshot") {
    const settings = event.value.settings.map(ownSetting(own));
    return create(WatchSettingsResponseSchema, {
      revision,
      event: { case: "snapshot", value: { settings } },
    });
  }
  if (event.case !== "change") return message;
  const changes = event.value.changes.map(
    (change): SettingChange =>
      change.key === "version" && change.newValue !== undefined
        ? create(SettingChangeSchema, { ...change, newValue: own.version })
        : change,
  );
  return create(WatchSettingsResponseSchema, {
    revision,
    event: { case: "change", value: { ...event.value, changes } },
  });
}
