import { create, type JsonObject } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type ArchiveResult,
  ArchiveResultSchema,
  type BackupService as BackupServiceDesc,
  ExportArchiveResponseSchema,
  type ImportArchiveRequest,
  ImportArchiveResponseSchema,
  LeftAloneSchema,
  SecretsMode as SecretsModeProto,
  type SkippedPart as SkippedPartMessage,
  SkippedPartSchema,
} from "../../gen/mooring/v1/backup_service_pb.js";
import { grantOf, whileAllowed } from "../access/grant.ts";
import { auditOriginOf, originOf } from "../audit/entry.ts";
import { dryRunOf, type Recorder } from "../audit/recorder.ts";
import { effectToProto } from "../history/effect.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import { invalid } from "../messages/error.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { message, type Text } from "../messages/message.ts";
import { createTicks, mapInTicks } from "../ticks.ts";
import type { Archive } from "./archive.ts";
import type { SecretsMode } from "./document.ts";
import type { ImportOptions, SkippedPart } from "./import.ts";
import type { PartResult } from "./part.ts";

/**
 * Implements the archives of BackupService.
 *
 * @param audit records exports, and counts dry runs with values for masked secrets.
 */
export function archiveImpl(
  archive: Archive,
  audit: Pick<Recorder, "record" | "note">,
  translations: (language: Language) => Translate = createTranslations(),
  pendingSites: PendingSites = () => [],
): Pick<ServiceImpl<typeof BackupServiceDesc>, "exportArchive" | "importArchive"> {
  const sayIn = createSayIn(translations);
  const pending = createPendingReply(pendingSites, sayIn);
  return {
    exportArchive: async (request, context) => {
      const { only, names, includeServerOwn } = request;
      const secrets = modeOf(request.secrets, request.passphrase);
      const { signal } = context;
      checkPassphrase(request.passphrase);
      const document = await whileAllowed(context, (renew) =>
        archive.export(grantOf(context), {
          secrets,
          only,
          names,
          includeServerOwn,
          signal,
          renew,
        }),
      );
      const isNeeded = secrets.mode !== "omit";
      const detail = { secrets: secrets.mode, parts: Object.keys(document.counts) };
      await audit.record({ origin: auditOriginOf(context), subjects: [], detail, isNeeded });
      // Exports are recorded together; their replies of many MiB are written in a tick each.
      await createTicks().next();
      // The document is plain JSON.
      return create(ExportArchiveResponseSchema, { document: document as unknown as JsonObject });
    },
    importArchive: async (request, context) => {
      const { document, reason, dryRun } = request;
      if (document === undefined)
        throw invalid([
          { field: "document", description: message("FIELD_MISSING", { field: "document" }) },
        ]);
      checkPassphrase(request.passphrase);
      const declared = request.declared ? { file: undefined } : undefined;
      const options = { ...optionsOf(request), declared, signal: context.signal };
      const {
        revision,
        results,
        skipped,
        leftAlone = [],
      } = await whileAllowed(context, (renew) => {
        const caller = { grant: grantOf(context), origin: originOf(context, reason), renew };
        return archive.import(document, caller, options);
      });
      if (dryRun) noteGuesses(audit, results, context);
      const say = sayIn(context);
      return create(ImportArchiveResponseSchema, {
        revision: BigInt(revision),
        results: await mapInTicks(results, (result) => resultToProto(result, say)),
        skipped: skipped.map((part) => skippedToProto(part, say)),
        pendingSites: dryRun ? [] : pending(context),
        leftAlone: leftAlone.map(({ part, names }) =>
          create(LeftAloneSchema, {
            part,
            count: names.length,
            names: names.slice(0, MAX_LEFT_ALONE),
          }),
        ),
      });
    },
  };
}

/** Maximum number of names of a part that a declared document does not name. */
const MAX_LEFT_ALONE = 100;

/** Dry runs with guessed values could reveal secrets: they are counted in the audit. */
export function noteGuesses(
  audit: Pick<Recorder, "note">,
  results: readonly PartResult[],
  context: HandlerContext,
): void {
  const subjects = results.flatMap(({ name, isGuess = false }) => (isGuess ? [name] : []));
  if (subjects.length > 0) audit.note(dryRunOf(context, subjects));
}

/** Maximum length of a passphrase, in characters. */
const MAX_PASSPHRASE = 1_024;

/** @throws INVALID_ARGUMENT: each value of a backup is decrypted with the whole passphrase. */
export function checkPassphrase(passphrase: string): void {
  // A character has at most two code units; the rest of a long text is not split.
  if ([...passphrase.slice(0, 2 * MAX_PASSPHRASE + 1)].length > MAX_PASSPHRASE)
    throw invalid([
      {
        field: "passphrase",
        description: message("PASSPHRASE_TOO_LONG", { most: MAX_PASSPHRASE }),
      },
    ]);
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

/** Members that requests of imports and restores share. */
type ImportRequest = Pick<
  ImportArchiveRequest,
  | "passphrase"
  | "only"
  | "dryRun"
  | "skipInvalid"
  | "includeServerOwn"
  | "pauseSites"
  | "replaceSecrets"
  | "allowSharedCredential"
  | "siteNames"
  | "sites"
>;

/** Options of an import. @throws INVALID_ARGUMENT. */
export function optionsOf(request: ImportRequest): ImportOptions {
  const { passphrase, only, dryRun, skipInvalid, includeServerOwn, pauseSites } = request;
  return {
    passphrase,
    only,
    dryRun,
    skipInvalid,
    includeServerOwn,
    pauseSites,
    replaceSecrets: request.replaceSecrets,
    allowShared: request.allowSharedCredential,
    siteNames: new Map(Object.entries(request.siteNames)),
    sites: sitesOf(request.sites),
  };
}

function sitesOf(sites: ImportArchiveRequest["sites"]): ImportOptions["sites"] {
  if (sites === undefined) return undefined;
  const { names, all, none } = sites;
  if ([names.length > 0, all, none].filter(Boolean).length !== 1)
    throw invalid([{ field: "sites", description: message("SITES_INVALID", { field: "sites" }) }]);
  return all ? "all" : names;
}

export function skippedToProto(
  { part, count, reason }: SkippedPart,
  say: (text: Text) => string,
): SkippedPartMessage {
  return create(SkippedPartSchema, { part, count, reason: say(reason) });
}

export function resultToProto(result: PartResult, say: (text: Text) => string): ArchiveResult {
  const { part, name, outcome, note, differs, leftOut, missing, effects, isLoss } = result;
  const { replacedSecrets, kept, isNewer: newer = false, password = "" } = result;
  return create(ArchiveResultSchema, {
    part,
    name,
    outcome,
    isLoss,
    password,
    note: say(note),
    differs: [...differs],
    leftOut: [...leftOut],
    missing: [...missing],
    replacedSecrets: [...replacedSecrets],
    kept: [...kept],
    newer,
    effects: effects.map(effectToProto),
  });
}
