import { Code } from "@connectrpc/connect";
import { createLine } from "../ledger/etag.ts";
import { explained, type HistoryStore } from "../ledger/history.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createRecordEtags } from "../ledger/record-etag.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { settingEtag } from "./conflict.ts";
import { FLAG, type SettingItem, type Skipped } from "./item.ts";
import { SETTINGS, unknownSetting } from "./kind.ts";
import type { SettingOrigin } from "./rights.ts";
import { MAX_SAVE_ITEMS, type SaveRules } from "./save.ts";
import { createSettingChanges } from "./setting-changes.ts";
import type { SettingService } from "./setting-service.ts";
import { generateToken, TOKEN_KEY } from "./token.ts";
import { deleteSetting } from "./use-case/delete.ts";
import { saveSettings } from "./use-case/save.ts";
import { type Downloaders, setAria2, setQbittorrent } from "./use-case/set-downloader.ts";

export interface SettingServiceDeps extends SaveRules, Downloaders {
  readonly ledger: Ledger;
  readonly store: HistoryStore;
  readonly fingerprint: Fingerprint;
  readonly randomBytes: (size: number) => Buffer;
  /** Called with the settings that a save has left unchanged. */
  readonly onSkipped: (skipped: readonly Skipped[], origin: SettingOrigin) => void;
}

export function createSettingService(deps: SettingServiceDeps): SettingService {
  const { ledger, fingerprint, managedBy } = deps;
  const { snapshot } = ledger;
  const store = explained(deps.store);
  const line = createLine({ store, snapshot });
  const etags = createRecordEtags(fingerprint);
  const changes = createSettingChanges({ ledger, store, managedBy });
  const get = (key: string): SettingItem => {
    const item = snapshot().get(SETTINGS, key);
    if (item === undefined) throw unknownSetting(key);
    return item;
  };
  return {
    snapshot,
    line,
    etagOf: (item) => settingEtag(item, etags),
    managedBy,
    get,
    list: (groups) => listOf(snapshot(), groups),
    defaults: (groups) => listOf(snapshot(), groups).flatMap(defaultOf),
    batchGet: (keys) => {
      checkKeyCount(keys);
      return [...new Set(keys)].map(get);
    },
    save: saveSettings(changes, { ...deps, snapshot, store, etags }),
    delete: deleteSetting(changes, { line, etags }),
    resetToken: async (origin) => {
      const token = generateToken(deps.randomBytes);
      const { revision } = await changes.set(origin, { [TOKEN_KEY]: token }, { isOwn: true });
      return { token, revision };
    },
    setAria2: setAria2(changes, deps),
    setQbittorrent: setQbittorrent(changes, deps),
  };
}

function defaultOf(item: SettingItem): SettingItem[] {
  const { definition, key, flag } = item;
  if (definition === undefined || key === TOKEN_KEY) return [];
  return [flag === FLAG.readonly ? item : { ...item, value: definition.default }];
}

function listOf(snapshot: Snapshot, groups: readonly number[]): readonly SettingItem[] {
  const items = [...snapshot.of(SETTINGS).items()];
  if (groups.length === 0) return items;
  const asked = new Set(groups);
  return items.filter((item) => asked.has(item.group));
}

/** @throws INVALID_ARGUMENT. */
function checkKeyCount(keys: readonly string[]): void {
  if (keys.length === 0) throw new ServiceError(Code.InvalidArgument, message("KEYS_MISSING"));
  if (keys.length > MAX_SAVE_ITEMS)
    throw new ServiceError(
      Code.InvalidArgument,
      message("TOO_MANY_KEYS", { most: MAX_SAVE_ITEMS, count: keys.length }),
    );
}
