import { create, type JsonObject } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ExportSettingsResponseSchema,
  ImportedSettingSchema,
  ImportOutcome,
  ImportSettingsResponseSchema,
  SecretsMode as SecretsModeProto,
  type SettingService as SettingServiceDesc,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { auditOriginOf, originOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { dryRunOf } from "../audit/recorder.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import { invalid } from "../messages/error.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { message } from "../messages/message.ts";
import { SETTINGS } from "../settings/kind.ts";
import { rightsOfCaller } from "../settings/rights.ts";
import { createTicks } from "../ticks.ts";
import type { BackupService } from "./backup.ts";
import type { SecretsMode } from "./mooring.ts";
import type { Outcome } from "./plan.ts";

/** Backup methods of SettingService. */
type BackupImpl = Pick<ServiceImpl<typeof SettingServiceDesc>, "exportSettings" | "importSettings">;

/** Outcome of a setting; an invalid value counts as skipped once the rest is imported. */
const OUTCOMES: Readonly<Record<Outcome, ImportOutcome>> = {
  added: ImportOutcome.ADDED,
  changed: ImportOutcome.CHANGED,
  unchanged: ImportOutcome.UNCHANGED,
  skipped: ImportOutcome.SKIPPED,
  invalid: ImportOutcome.SKIPPED,
};

/** @param audit records exports, and counts dry runs with values for masked secrets. */
export function backupImpl(
  backup: BackupService,
  snapshot: () => Snapshot,
  audit: Pick<Recorder, "record" | "note">,
  translations: (language: Language) => Translate = createTranslations(),
  pendingSites: PendingSites = () => [],
): BackupImpl {
  const sayIn = createSayIn(translations);
  const pending = createPendingReply(pendingSites, sayIn);
  return {
    exportSettings: async ({ secrets, passphrase }, context) => {
      const rights = rightsOfCaller(context, snapshot);
      const mode = modeOf(secrets, passphrase);
      // A caller who chooses the passphrase can read the sealed secrets.
      if (mode.mode !== "omit") rights.requireScope("settings:reveal");
      const document = await backup.export(mode, rights, context.signal);
      const isNeeded = mode.mode !== "omit";
      const detail = { secrets: mode.mode };
      await audit.record({ origin: auditOriginOf(context), subjects: [], detail, isNeeded });
      // Exports are recorded together; their replies of up to 8 MiB are written in a tick each.
      await createTicks().next();
      // createBackup returns plain JSON.
      return create(ExportSettingsResponseSchema, { document: document as unknown as JsonObject });
    },
    importSettings: async (request, context) => {
      const { document, passphrase, dryRun, skipInvalid, reason } = request;
      if (document === undefined)
        throw invalid([
          { field: "document", description: message("FIELD_MISSING", { field: "document" }) },
        ]);
      const rights = rightsOfCaller(context, snapshot);
      const { revision, result } = await backup.import(
        { value: document },
        { ...originOf(context, reason), rights },
        {
          passphrase,
          dryRun,
          skipInvalid,
          includeServerOwn: request.includeServerOwn,
          signal: context.signal,
        },
      );
      const subjects = result
        .filter(({ key, outcome }) => {
          const item = snapshot().get(SETTINGS, key);
          return outcome === "changed" && item !== undefined && rights.isMasked(item);
        })
        .map(({ key }) => key);
      if (dryRun && subjects.length > 0) audit.note(dryRunOf(context, subjects));
      const say = sayIn(context);
      return create(ImportSettingsResponseSchema, {
        revision: BigInt(revision),
        pendingSites: dryRun ? [] : pending(context),
        settings: result.map(({ key, outcome, reason }) =>
          create(ImportedSettingSchema, { key, outcome: OUTCOMES[outcome], reason: say(reason) }),
        ),
      });
    },
  };
}

function modeOf(secrets: SecretsModeProto, passphrase: string): SecretsMode {
  switch (secrets) {
    case SecretsModeProto.SEAL:
      return { mode: "seal", passphrase };
    case SecretsModeProto.CLEAR:
      return { mode: "clear" };
    default:
      return { mode: "omit" };
  }
}
