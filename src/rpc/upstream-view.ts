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
  /** As an admin of it may see it here: masked where secrets are. */
  readonly token: string;
}

/** Who looks: one of the upstream's admins. */
export interface Viewer {
  /** Whether they have asked for secrets as `********`. */
  readonly masksSecrets: boolean;
}

type Show = (message: never, own: Own) => Message;

/**
 * Shows replies and events as the upstream would: its version stands in what everybody may read, its
 * version and token in what its admins read. Mooring's own tokens keep Mooring's own view: its
 * programs compare it with what they hold. Each message is made once.
 */
export function createUpstreamView() {
  let made = new WeakMap<Message, Message>();
  let madeFor = "";
  return (message: Message, method: DescMethod, behind: Upstream, visitor?: Viewer): Message => {
    const show = forEverybody.get(method) ?? (visitor && forVisitors.get(method));
    if (show === undefined || !behind.isReady()) return message;
    const [version, token] = [behind.version(), behind.token()];
    if (madeFor !== `${version}\n${token}`) {
      made = new WeakMap();
      madeFor = `${version}\n${token}`;
    }
    // A reply with secrets is another message than one without.
    const own = { version, token: visitor?.masksSecrets === false ? token : MASK };
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
    (reply: ListSettingsResponse, own) =>
      create(ListSettingsResponseSchema, {
        ...reply,
        settings: reply.settings.map(ownSetting(own)),
      }),
  ],
  [
    setting.batchGetSettings,
    (reply: BatchGetSettingsResponse, own) =>
      create(BatchGetSettingsResponseSchema, {
        ...reply,
        settings: reply.settings.map(ownSetting(own)),
      }),
  ],
  [
    setting.getSetting,
    (reply: GetSettingResponse, own) =>
      reply.setting === undefined
        ? reply
        : create(GetSettingResponseSchema, {
            ...reply,
            setting: ownSetting(own)(reply.setting),
          }),
  ],
  [setting.watchSettings, settingsEvent],
]);

function ownSetting({ version, token }: Own) {
  return (each: Setting): Setting => {
    if (each.key === "version") return create(SettingSchema, { ...each, value: version });
    return each.key === "token" ? create(SettingSchema, { ...each, value: token }) : each;
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
