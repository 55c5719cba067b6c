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
import { MASK } from "../settings/value.ts";
import type { Upstream } from "./upstream.ts";

/** Properties of an upstream. */
interface Own {
  readonly version: string;
  /** Token as visible to the admin: masked if secrets are. */
  readonly token: string;
  /** Reports whether it lacks a setting that Mooring defines. */
  readonly lacks: (key: string) => boolean;
  /** Rows of settings whose values only the upstream has. */
  readonly rows: ReadonlyMap<string, Pick<Setting, "value" | "type" | "options">>;
}

/** Viewer: an admin of the upstream. */
export interface Viewer {
  /** Whether secrets are requested as `********`. */
  readonly masksSecrets: boolean;
}

type Show = (message: never, own: Own) => Message;

/**
 * Shows replies and events as the upstream would, over every protocol: with its version, without
 * settings that it lacks in public settings and in the lists of its admins, and in those also with
 * its token and its own rows. A setting requested by its key is shown even if the upstream lacks
 * it. Mooring's own tokens keep Mooring's view: their programs compare it with their state, and
 * other sites may have more settings. Each message is created once.
 */
export function createUpstreamView() {
  let made = new WeakMap<Message, Message>();
  let madeFor: readonly unknown[] = [];
  return (message: Message, method: DescMethod, behind: Upstream, visitor?: Viewer): Message => {
    const show = forEverybody.get(method) ?? (visitor && forVisitors.get(method));
    if (show === undefined || !behind.isReady()) return message;
    const [version, token, rows] = [behind.version(), behind.token(), behind.ownRows.last()];
    const now = [version, token, rows, behind.known()];
    if (!now.every((each, at) => each === madeFor[at])) {
      made = new WeakMap();
      madeFor = now;
    }
    // A reply with secrets is another message than one without.
    const shown = visitor?.masksSecrets === false ? token : MASK;
    const own = { version, token: shown, lacks: behind.lacks, rows };
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
        settings: publicSettings(reply.settings, own),
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
        settings: ownSettings(reply.settings, own),
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

function ownSetting({ version, token, rows }: Own) {
  return (each: Setting): Setting => {
    const { key } = each;
    if (key === "version") return create(SettingSchema, { ...each, value: version });
    if (key === "token") return create(SettingSchema, { ...each, value: token });
    const row = rows.get(key);
    if (row === undefined) return each;
    const { value, type, options } = row;
    return create(SettingSchema, { ...each, value, type, options });
  };
}

/** The settings of a list: without those that the upstream lacks. */
function ownSettings(settings: readonly Setting[], own: Own): Setting[] {
  return settings.filter(({ key }) => !own.lacks(key)).map(ownSetting(own));
}

function publicSettings(
  settings: Readonly<Record<string, string>>,
  { version, lacks }: Own,
): Record<string, string> {
  const known = Object.entries(settings).filter(([key]) => !lacks(key));
  return { ...Object.fromEntries(known), version };
}

function publicEvent(message: WatchPublicSettingsResponse, own: Own): Message {
  const { revision, event } = message;
  if (event.case === "snapshot") {
    const settings = publicSettings(event.value.settings, own);
    return create(WatchPublicSettingsResponseSchema, {
      revision,
      event: { case: "snapshot", value: { settings } },
    });
  }
  if (event.case !== "change") return message;
  const { set, removed } = event.value;
  const known = Object.entries(set).filter(([key]) => !own.lacks(key));
  const values = known.map(([key, value]) => [key, key === "version" ? own.version : value]);
  return create(WatchPublicSettingsResponseSchema, {
    revision,
    event: { case: "change", value: { set: Object.fromEntries(values), removed } },
  });
}

function settingsEvent(message: WatchSettingsResponse, own: Own): Message {
  const { revision, event } = message;
  if (event.case === "snapshot") {
    const settings = ownSettings(event.value.settings, own);
    return create(WatchSettingsResponseSchema, {
      revision,
      event: { case: "snapshot", value: { settings } },
    });
  }
  if (event.case !== "change") return message;
  const known = event.value.changes.filter(({ key }) => !own.lacks(key));
  const changes = known.map(
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
