import { create } from "@bufbuild/protobuf";
import {
  ChangeKind,
  type Setting,
  type SettingChange,
  SettingChangeSchema,
  SettingSchema,
} from "../../gen/mooring/v1/setting_pb.js";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { Translate } from "../messages/language.ts";
import type { Change } from "./change.ts";
import type { SettingItem } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { MASK } from "./value.ts";

/** Data of a setting's message in addition to the item. */
interface SettingView {
  /** Position in a list. */
  readonly index: number;
  readonly managed: boolean;
  /** Whether a non-empty value is replaced by `********`. */
  readonly mask: boolean;
  readonly etag: string;
  readonly translate: Translate;
}

function settingToProto(item: SettingItem, view: SettingView): Setting {
  const { index, managed, mask, etag, translate } = view;
  const { key, value, type, options, group, flag, secret, definition } = item;
  return create(SettingSchema, {
    key,
    value: mask && value !== "" ? MASK : value,
    ...textsOf(item, translate),
    type,
    options,
    group,
    flag,
    index,
    secret,
    managed,
    default: definition?.default ?? "",
    format: definition?.format ?? "",
    revision: BigInt(item.revision),
    etag,
    ...(definition?.min === undefined ? {} : { min: definition.min }),
    ...(definition?.max === undefined ? {} : { max: definition.max }),
  });
}

/** Texts for display. The texts of a custom setting come from the client. */
function textsOf({ key, help, definition }: SettingItem, translate: Translate) {
  if (definition === undefined) return { help, description: help, label: key };
  const description = translate(definition.description);
  return {
    help: definition.help === "" ? "" : description,
    description,
    label: translate(definition.label),
    optionLabels: definition.optionLabels.map(translate),
    groupLabel: translate(definition.groupLabel),
    unit: translate(definition.unit ?? ""),
    fraction: definition.decimal,
    families: [...definition.families],
  };
}

const KINDS: Readonly<Record<Change["kind"], ChangeKind>> = {
  added: ChangeKind.ADDED,
  changed: ChangeKind.CHANGED,
  deleted: ChangeKind.DELETED,
};

export function changeToProto({ key, kind, oldValue, newValue, secret }: Change): SettingChange {
  return create(SettingChangeSchema, {
    key,
    kind: KINDS[kind],
    secret,
    ...(oldValue === undefined ? {} : { oldValue }),
    ...(newValue === undefined ? {} : { newValue }),
  });
}

/** Shows a setting of a snapshot. */
export type ShowSetting = (snapshot: Snapshot, item: SettingItem) => Setting;

/** Messages of settings that are the same in every view. */
const shared = new WeakMap<SettingItem, Setting>();

/** Reports whether a setting is the same in every view: a custom one, whose texts are not translated. */
function isSameForAll({ definition, secret }: SettingItem): boolean {
  return definition === undefined && !secret;
}

/**
 * Converts settings to messages, cached per state of a setting: after a change of one setting, a
 * list rebuilds one message.
 *
 * @param masks whether `********` replaces the value of a setting.
 * @param translate for texts for display.
 */
export function createSettingView(
  {
    managedBy,
    etagOf,
  }: {
    readonly managedBy: (key: string) => string | undefined;
    readonly etagOf: (item: SettingItem) => string;
  },
  masks: (item: SettingItem) => boolean,
  translate: Translate,
): ShowSetting {
  const own = new WeakMap<SettingItem, Setting>();
  return (snapshot, item) => {
    const made = isSameForAll(item) ? shared : own;
    const index = snapshot.of(SETTINGS).indexOf(item.key);
    const managed = managedBy(item.key) !== undefined;
    const known = made.get(item);
    if (known?.index === index && known.managed === managed) return known;
    const setting = settingToProto(item, {
      index,
      managed,
      mask: masks(item),
      etag: etagOf(item),
      translate,
    });
    made.set(item, setting);
    return setting;
  };
}
