import type { SealedText } from "./passphrase.ts";
import type { BackupSetting } from "./setting.ts";

/** Names Mooring's own backup document, and the version of its form that is written. */
export const FORMAT = "mooring-settings";
export const VERSION = 1;

/** What says where a document comes from. */
export interface DocumentHeader {
  readonly format: typeof FORMAT;
  readonly version: number;
  /** Time of writing, ISO 8601 in UTC. */
  readonly created: string;
  /** The database's random id; empty when it was not given. */
  readonly databaseId: string;
  /** The revision that the settings are of. */
  readonly revision: number;
}

/** Mooring's own backup: one JSON object. */
export interface BackupDocument extends DocumentHeader {
  readonly settings: readonly BackupSetting[];
  /** Keys of the secret settings that were left out. */
  readonly omitted?: readonly string[];
  /** The secret settings as the JSON text of an array, sealed; their keys stand beside it. */
  readonly secrets?: SealedText & { readonly keys: readonly string[] };
}

/**
 * What is bound to the sealed secrets: they don't open in another document or under another list of
 * keys. The settings in the clear are not bound, so that they can be edited.
 */
export function sealingHeader(header: DocumentHeader, keys: readonly string[]): string {
  const { format, version, created, databaseId, revision } = header;
  return JSON.stringify([format, version, created, databaseId, revision, keys]);
}
