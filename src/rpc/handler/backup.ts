import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  ExportSettingsResponseSchema,
  ImportedSettingSchema,
  ImportOutcome,
  ImportSettingsResponseSchema,
  SecretsMode as SecretsModeProto,
  type SettingService as SettingServiceDesc,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { BackupService } from "../../service/backup/backup.ts";
import type { Outcome } from "../../service/backup/plan.ts";
import type { SecretsMode } from "../../service/backup/write.ts";
import { invalid } from "../../service/error.ts";
import type { Handlers } from "../method.ts";
import { originOf } from "./origin.ts";

export type BackupHandlers = Pick<
  Handlers<typeof SettingServiceDesc>,
  "exportSettings" | "importSettings"
>;

/** What became of a setting; a refused value counts as skipped once the rest is taken. */
const OUTCOMES: Readonly<Record<Outcome, ImportOutcome>> = {
  added: ImportOutcome.ADDED,
  changed: ImportOutcome.CHANGED,
  unchanged: ImportOutcome.UNCHANGED,
  skipped: ImportOutcome.SKIPPED,
  invalid: ImportOutcome.SKIPPED,
};

export function backupHandlers(backup: () => BackupService): BackupHandlers {
  return {
    exportSettings: async ({ secrets, passphrase }) => {
      const document = await backup().export(modeOf(secrets, passphrase));
      // The document is plain JSON by its making.
      return create(ExportSettingsResponseSchema, { document: document as unknown as JsonObject });
    },
    importSettings: async ({ document, passphrase, dryRun, skipInvalid, reason }, call) => {
      if (document === undefined)
        throw invalid([{ field: "document", description: '"document" is missing' }]);
      const { revision, result } = await backup().import(
        { value: document },
        originOf(call, "ImportSettings", reason),
        { passphrase, dryRun, skipInvalid },
      );
      return create(ImportSettingsResponseSchema, {
        revision: BigInt(revision),
        settings: result.map(({ key, outcome, reason }) =>
          create(ImportedSettingSchema, { key, outcome: OUTCOMES[outcome], reason }),
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
