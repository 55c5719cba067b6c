import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type RecordChange as RecordChangeMessage,
  RecordChangeSchema,
  type RollbackResult,
  RollbackResultSchema,
} from "../../gen/mooring/v1/history_pb.js";
import { ChangeKind, type Revision, RevisionSchema } from "../../gen/mooring/v1/setting_pb.js";
import { tokenIdOf } from "../audit/entry.ts";
import type { RevisionSummary } from "../ledger/store.ts";
import type { Text } from "../messages/message.ts";
import { effectToProto } from "./effect.ts";
import type { ItemChange, RecordChange } from "./kind.ts";
import { reasonText } from "./program-reason.ts";
import type { RestoreResult } from "./restore.ts";

const KINDS: Readonly<Record<RecordChange["kind"], ChangeKind>> = {
  added: ChangeKind.ADDED,
  changed: ChangeKind.CHANGED,
  deleted: ChangeKind.DELETED,
};

export function changeToProto({ key, kind, items, ...values }: RecordChange): RecordChangeMessage {
  return create(RecordChangeSchema, {
    key,
    kind: KINDS[kind],
    ...valuesToProto(values),
    items: items.map(({ name, ...own }) => ({ name, ...valuesToProto(own) })),
  });
}

function valuesToProto({
  oldValue,
  newValue,
  secret,
}: Pick<RecordChange, "oldValue" | "newValue" | "secret"> | Omit<ItemChange, "name">) {
  return {
    secret,
    ...(oldValue !== undefined && { oldValue }),
    ...(newValue !== undefined && { newValue }),
  };
}

/** @param keys of the changed records. */
export function revisionToProto(
  summary: RevisionSummary,
  keys: readonly string[],
  say: (text: Text) => string,
): Revision {
  const { revision, time, actor, transport, method, requestId, peer } = summary;
  return create(RevisionSchema, {
    revision: BigInt(revision),
    time: timestampFromMs(time),
    actor,
    transport,
    method,
    requestId,
    peer,
    reason: say(reasonText(summary)),
    keys: [...keys],
    tokenId: tokenIdOf(actor),
  });
}

export function resultToProto(
  { kind, key, outcome, note, differs, leftOut = [], effects = [] }: RestoreResult,
  say: (text: Text) => string,
): RollbackResult {
  return create(RollbackResultSchema, {
    kind,
    key,
    outcome,
    note: say(note),
    differs: [...differs],
    notRestored: [...leftOut],
    effects: effects.map(effectToProto),
  } as MessageInitShape<typeof RollbackResultSchema>);
}
