import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  ChangeKind,
  type Revision,
  RevisionSchema,
  type Setting,
  type SettingChange,
  SettingChangeSchema,
  SettingSchema,
} from "../../../gen/mooring/v1/setting_pb.js";
import type { Change } from "../../service/setting/change.ts";
import type { SettingItem } from "../../service/setting/item.ts";
import { MASK } from "../../service/setting/value.ts";
import type { RevisionSummary } from "../../store/setting-store.ts";

/** What a setting's message shows besides the item itself. */
export interface SettingView {
  /** Position in a list. */
  readonly index: number;
  readonly managed: boolean;
  /** Show `********` in place of a secret value that is not empty. */
  readonly mask: boolean;
}

export function settingToProto(item: SettingItem, { index, managed, mask }: SettingView): Setting {
  const { key, value, help, type, options, group, flag, secret, definition } = item;
  return create(SettingSchema, {
    key,
    value: mask && secret && value !== "" ? MASK : value,
    help,
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
    ...(definition?.min === undefined ? {} : { min: definition.min }),
    ...(definition?.max === undefined ? {} : { max: definition.max }),
  });
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

export function revisionToProto(summary: RevisionSummary): Revision {
  const { revision, time, actor, door, method, requestId, peer, reason, keys } = summary;
  return create(RevisionSchema, {
    revision: BigInt(revision),
    time: timestampFromMs(time),
    actor,
    door,
    method,
    requestId,
    peer,
    reason,
    keys: [...keys],
  });
}
