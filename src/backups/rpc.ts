import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type BackupService as BackupServiceDesc,
  CheckBackupResponseSchema,
  ListBackupsResponseSchema,
  PruneBackupsResponseSchema,
  RestoreBackupResponseSchema,
} from "../../gen/mooring/v1/backup_service_pb.js";
import { grantOf, whileAllowed } from "../access/grant.ts";
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
import { invalid } from "../messages/error.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { message } from "../messages/message.ts";
import { mapInTicks } from "../ticks.ts";
import { createImpl } from "./create-rpc.ts";
import { backupToProto, countsToProto, omissionToProto } from "./message.ts";
import type { ScheduleState } from "./schedule.ts";
import type { BackupService } from "./service.ts";

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
  const pending = createPendingReply(pendingSites, sayIn);
  return {
    ...createImpl(backups, audit),
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
      const isShown = backups.isShownTo(grantOf(context));
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
          ? restored.omissions.filter(backups.isShownTo(grantOf(context)))
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

function nameOf(name: string): string {
  if (name !== "") return name;
  throw invalid([{ field: "name", description: message("FIELD_MISSING", { field: "name" }) }]);
}
