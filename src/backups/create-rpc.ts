import { create, type JsonObject } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type BackupService as BackupServiceDesc,
  type CreateBackupResponse,
  CreateBackupResponseSchema,
} from "../../gen/mooring/v1/backup_service_pb.js";
import { grantOf, whileAllowed } from "../access/grant.ts";
import { checkPassphrase } from "../archive/rpc.ts";
import { auditOriginOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { createTicks } from "../ticks.ts";
import { backupToProto, countsToProto, omissionToProto } from "./message.ts";
import type { BackupService, CreateOptions } from "./service.ts";

/** The method of BackupService that makes a backup: stored in the target, or in the reply. */
export function createImpl(
  backups: BackupService,
  audit: Pick<Recorder, "record">,
): Pick<ServiceImpl<typeof BackupServiceDesc>, "createBackup"> {
  return {
    createBackup: async ({ passphrase, download, includeServerOwn }, context) => {
      checkPassphrase(passphrase);
      const options = { passphrase, includeServerOwn, signal: context.signal };
      const make = download ? downloadBackup : storeBackup;
      return make(backups, audit, options, context);
    },
  };
}

async function storeBackup(
  backups: BackupService,
  audit: Pick<Recorder, "record">,
  options: CreateOptions,
  context: HandlerContext,
): Promise<CreateBackupResponse> {
  const grant = grantOf(context);
  const created = await whileAllowed(context, () => backups.create(grant, options));
  const { backup, counts, omissions, removed, revision } = created;
  // The backup is stored already: a row that cannot be written now is written later.
  await audit.record(backupEntry(context, { name: backup.name, counts, isNeeded: false }));
  return create(CreateBackupResponseSchema, {
    backup: backupToProto(backup),
    counts: countsToProto(counts),
    // A stored backup is made with all rights: the caller may not read all of its parts.
    omissions: omissions.filter(backups.isShownTo(grant)).map(omissionToProto),
    removed: removed.map(backupToProto),
    revision: BigInt(revision),
  });
}

async function downloadBackup(
  backups: BackupService,
  audit: Pick<Recorder, "record">,
  options: CreateOptions,
  context: HandlerContext,
): Promise<CreateBackupResponse> {
  const document = await whileAllowed(context, (renew) =>
    backups.download(grantOf(context), { ...options, renew }),
  );
  const { counts, leftOut, revision } = document;
  // All content leaves the service: without its row, the call fails.
  await audit.record(backupEntry(context, { counts, isNeeded: true }));
  // A reply of many MiB is written in a tick of its own.
  await createTicks().next();
  return create(CreateBackupResponseSchema, {
    document: document as unknown as JsonObject,
    counts: countsToProto(counts),
    omissions: leftOut.map(omissionToProto),
    revision: BigInt(revision),
  });
}

/**
 * Audit entry of a new backup.
 *
 * @param options.name of the stored backup; undefined: it is downloaded.
 * @param options.isNeeded whether the call fails if the entry cannot be written.
 */
function backupEntry(
  context: HandlerContext,
  {
    name,
    counts,
    isNeeded,
  }: {
    readonly name?: string;
    readonly counts: Readonly<Record<string, number>>;
    readonly isNeeded: boolean;
  },
) {
  return {
    origin: auditOriginOf(context),
    subjects: name === undefined ? [] : [name],
    detail: { secrets: "seal", parts: Object.keys(counts) },
    isNeeded,
  };
}
