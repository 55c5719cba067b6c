import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type Backup,
  BackupCountSchema,
  type BackupOmission,
  BackupOmissionSchema,
  BackupSchema,
  type BackupService as BackupServiceDesc,
  CheckBackupResponseSchema,
  CreateBackupResponseSchema,
  ListBackupsResponseSchema,
  PruneBackupsResponseSchema,
  RestoreBackupResponseSchema,
} from "../../gen/mooring/v1/backup_service_pb.js";
import { type Grant, grantOf, whileAllowed } from "../access/grant.ts";
import type { LeftOut } from "../archive/document.ts";
import {
  checkPassphrase,
  noteGuesses,
  optionsOf,
  resultToProto,
  skippedToProto,
} from "../archive/rpc.ts";
import { auditOriginOf, originOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import { denied, invalid } from "../messages/error.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { message } from "../messages/message.ts";
import { createTicks, mapInTicks } from "../ticks.ts";
import type { StoredBackup } from "./files.ts";
import type { ScheduleState } from "./schedule.ts";
import type { BackupService, CreateOptions } from "./service.ts";

type Implemented = Pick<
  ServiceImpl<typeof BackupServiceDesc>,
  "createBackup" | "listBackups" | "checkBackup" | "restoreBackup" | "pruneBackups"
>;

/**
 * Implements the backups of BackupService.
 *
 * @param audit records them, and counts dry runs with values for masked secrets.
 * @param schedule state of the schedule.
 */
export function backupsImpl(
  backups: BackupService,
  schedule: () => ScheduleState,
  audit: Pick<Recorder, "record" | "note">,
  translations: (language: Language) => Translate = createTranslations(),
  pendingSites: PendingSites = () => [],
): Implemented {
  const sayIn = createSayIn(translations);
  /** Names of entries, such as principals and sites, are shown to callers who may export them. */
  const isShownTo =
    (grant: Grant) =>
    ({ part }: { readonly part: string }): boolean =>
      backups.canExport(grant, part);
  const pending = createPendingReply(pendingSites, sayIn);
  const storeBackup = async (options: CreateOptions, context: HandlerContext) => {
    const created = await whileAllowed(context, () => backups.create(options));
    const { backup, counts, omissions, removed, revision } = created;
    await audit.record(backupEntry(context, { name: backup.name, counts, isNeeded: false }));
    return create(CreateBackupResponseSchema, {
      backup: backupToProto(backup),
      counts: countsToProto(counts),
      omissions: omissions.filter(isShownTo(grantOf(context))).map(omissionToProto),
      removed: removed.map(backupToProto),
      revision: BigInt(revision),
    });
  };
  const downloadBackup = async (options: CreateOptions, context: HandlerContext) => {
    const document = await whileAllowed(context, (renew) =>
      backups.download(grantOf(context), { ...options, renew }),
    );
    const { counts, leftOut, revision } = document;
    await audit.record(backupEntry(context, { counts, isNeeded: true }));
    // A reply of many MiB is written in a tick of its own.
    await createTicks().next();
    return create(CreateBackupResponseSchema, {
      document: document as unknown as JsonObject,
      counts: countsToProto(counts),
      omissions: leftOut.map(omissionToProto),
      revision: BigInt(revision),
    });
  };
  return {
    createBackup: async ({ passphrase, download, includeServerOwn }, context) => {
      checkPassphrase(passphrase);
      // A caller who knows the passphrase reads every secret in it, and the token is every right.
      const needsRoot = includeServerOwn || (!download && passphrase !== "");
      if (needsRoot && !grantOf(context).isRoot) throw denied(message("PERMANENT_TOKEN_REQUIRED"));
      const options = { passphrase, includeServerOwn, signal: context.signal };
      return download ? downloadBackup(options, context) : storeBackup(options, context);
    },
    listBackups: async (_request, context) => {
      const found = backups.place === undefined ? [] : await backups.list(context.signal);
      const { schedule: expression, timeZone, keep, nextTime, problem } = schedule();
      return create(ListBackupsResponseSchema, {
        backups: found.map(backupToProto),
        target: backups.place ?? "",
        hasPassphrase: backups.hasPassphrase,
        schedule: expression,
        timeZone,
        keep,
        problem: sayIn(context)(problem),
        ...(nextTime !== undefined && { nextTime: timestampFromMs(nextTime) }),
      });
    },
    checkBackup: async ({ name, passphrase }, context) => {
      checkPassphrase(passphrase);
      const { backup, checked } = await whileAllowed(context, () =>
        backups.check(nameOf(name), passphrase, context.signal),
      );
      const isShown = isShownTo(grantOf(context));
      const say = sayIn(context);
      return create(CheckBackupResponseSchema, {
        backup: backupToProto(backup),
        problem: say(checked.problem),
        counts: countsToProto(checked.counts),
        omissions: checked.omissions.filter(isShown).map(omissionToProto),
        losses: checked.losses.filter(isShown).map((loss) => resultToProto(loss, say)),
        revision: BigInt(checked.revision),
        version: checked.version,
      });
    },
    restoreBackup: async (request, context) => {
      const { name, document, reason, dryRun } = request;
      if ((name === "") === (document === undefined))
        throw invalid([{ field: "name", description: message("BACKUP_NAME_OR_DOCUMENT") }]);
      checkPassphrase(request.passphrase);
      const source = document === undefined ? { name } : { document };
      const newServers = new Map(Object.entries(request.newServers));
      const options = { ...optionsOf(request), newServers, signal: context.signal };
      const restored = await whileAllowed(context, (renew) => {
        const caller = { grant: grantOf(context), origin: originOf(context, reason), renew };
        return backups.restore(source, caller, options);
      });
      if (dryRun) noteGuesses(audit, restored.results, context);
      const say = sayIn(context);
      return create(RestoreBackupResponseSchema, {
        revision: BigInt(restored.revision),
        results: await mapInTicks(restored.results, (result) => resultToProto(result, say)),
        skipped: restored.skipped.map((part) => skippedToProto(part, say)),
        pendingSites: dryRun ? [] : pending(context),
        // The names of a document are those that its caller has sent.
        omissions: (document === undefined
          ? restored.omissions.filter(isShownTo(grantOf(context)))
          : restored.omissions
        ).map(omissionToProto),
      });
    },
    pruneBackups: async ({ dryRun }, context) => {
      const { signal } = context;
      const { removed, kept, unknown, others } = await whileAllowed(context, () =>
        backups.prune({ dryRun, signal }),
      );
      if (!dryRun && removed.length > 0)
        await audit.record({
          origin: auditOriginOf(context),
          subjects: removed.map(({ name }) => name),
          detail: {},
          isNeeded: false,
        });
      return create(PruneBackupsResponseSchema, {
        removed: removed.map(backupToProto),
        kept: kept.map(backupToProto),
        unknown: [...unknown],
        others: others.map(backupToProto),
      });
    },
  };
}

/**
 * Audit entry of a new backup.
 *
 * @param name of the stored backup; undefined: it is downloaded.
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

function nameOf(name: string): string {
  if (name !== "") return name;
  throw invalid([{ field: "name", description: message("FIELD_MISSING", { field: "name" }) }]);
}

function backupToProto({ name, time, size, databaseId, isOwn }: StoredBackup): Backup {
  return create(BackupSchema, {
    name,
    createTime: timestampFromMs(time),
    size: BigInt(size),
    databaseId,
    own: isOwn,
  });
}

function countsToProto(counts: Readonly<Record<string, number>>) {
  return Object.entries(counts).map(([part, count]) => create(BackupCountSchema, { part, count }));
}

function omissionToProto({ part, names = [], scope = "", reason = "" }: LeftOut): BackupOmission {
  return create(BackupOmissionSchema, { part, names: [...names], scope, reason });
}
