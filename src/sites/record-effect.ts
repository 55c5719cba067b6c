import { create } from "@bufbuild/protobuf";
import {
  type RecordResult as RecordResultMessage,
  RecordResultSchema,
} from "../../gen/mooring/v1/effect_pb.js";
import type { AuditOrigin } from "../audit/entry.ts";
import { effectToProto } from "../history/effect.ts";
import type { RecordResult } from "../history/record-result.ts";
import type { Text } from "../messages/message.ts";
import type { RecordsOfSite, Site } from "./site.ts";

/** Effects of changes of sites on the records of one kind. */
export interface EffectsOnRecords {
  /**
   * Removes a deleted site from the records that name it.
   *
   * @param options.dryRun changes nothing.
   * @returns the records that name it. @throws FAILED_PRECONDITION for a record that a file declares
   *   for this site.
   */
  leave(
    site: Site,
    origin: AuditOrigin,
    options: { readonly dryRun: boolean },
  ): Promise<readonly RecordResult[]>;
  /** Records that a change of a site affects on its server, from the last read of the server. */
  affected(before: Site, after: Site): readonly RecordResult[];
}

/** One kind of records beside settings, as the sites see it. */
export interface KindOfSites extends EffectsOnRecords {
  readonly kind: RecordsOfSite["kind"];
  /** Summary of the records of a site. The same object until it changes. */
  ofSite(site: Site): RecordsOfSite;
  /** Calls the listener when a summary may have changed. */
  onStatus(listener: () => void): void;
}

/** Result for one record, with its kind. */
export interface KindResult extends RecordResult {
  readonly kind: RecordsOfSite["kind"];
}

/** Converts the result of a change for one record. */
export function recordResultToProto(
  { kind, name, outcome, note, differs, effects = [] }: KindResult,
  say: (text: Text) => string,
): RecordResultMessage {
  return create(RecordResultSchema, {
    kind,
    name,
    outcome,
    note: say(note),
    differs: [...differs],
    effects: effects.map(effectToProto),
  });
}
