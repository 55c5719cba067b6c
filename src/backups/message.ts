import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Backup,
  BackupCountSchema,
  type BackupOmission,
  BackupOmissionSchema,
  BackupSchema,
} from "../../gen/mooring/v1/backup_service_pb.js";
import type { LeftOut } from "../archive/document.ts";
import type { StoredBackup } from "./files.ts";

export function backupToProto({ name, time, size, databaseId, isOwn }: StoredBackup): Backup {
  return create(BackupSchema, {
    name,
    createTime: timestampFromMs(time),
    size: BigInt(size),
    databaseId,
    own: isOwn,
  });
}

export function countsToProto(counts: Readonly<Record<string, number>>) {
  return Object.entries(counts).map(([part, count]) => create(BackupCountSchema, { part, count }));
}

export function omissionToProto({
  part,
  names = [],
  scope = "",
  reason = "",
}: LeftOut): BackupOmission {
  return create(BackupOmissionSchema, { part, names: [...names], scope, reason });
}
