import {
  type BackupDocument,
  type DocumentHeader,
  FORMAT,
  sealingHeader,
  VERSION,
} from "./mooring.ts";
import type { PassphraseCipher } from "./passphrase.ts";
import type { BackupSetting } from "./setting.ts";

/** Treatment of secret settings in a backup. */
export type SecretsMode =
  /** Secrets are left out, and listed by key. */
  | { readonly mode: "omit" }
  /** Sealed: reading the backup requires the passphrase of at least 8 characters. */
  | { readonly mode: "seal"; readonly passphrase: string }
  /** In the clear. */
  | { readonly mode: "clear" };

export interface BackupContent {
  readonly settings: Iterable<BackupSetting & { readonly secret: boolean }>;
  readonly revision: number;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
  readonly databaseId?: string;
}

/**
 * Makes Mooring's own backup document.
 *
 * @throws INVALID_ARGUMENT when the passphrase is too short.
 */
export async function createBackup(
  { settings, revision, time, databaseId = "" }: BackupContent,
  secrets: SecretsMode,
  cipher: PassphraseCipher,
): Promise<BackupDocument> {
  const all = [...settings];
  const created = new Date(time).toISOString();
  const header = { format: FORMAT, version: VERSION, created, databaseId, revision } as const;
  const open = all.filter((setting) => secrets.mode === "clear" || !setting.secret).map(toBackup);
  const secret = all.filter((setting) => setting.secret).map(toBackup);
  const rest = await secretPart(header, secret, secrets, cipher);
  return { ...header, settings: open, ...rest };
}

async function secretPart(
  header: DocumentHeader,
  settings: readonly BackupSetting[],
  secrets: SecretsMode,
  cipher: PassphraseCipher,
) {
  const keys = settings.map(({ key }) => key);
  if (secrets.mode === "clear") return {};
  if (secrets.mode === "omit") return { omitted: keys };
  const { passphrase } = secrets;
  const bound = sealingHeader(header, keys);
  const sealed = await cipher.seal(passphrase, JSON.stringify(settings), bound);
  return { secrets: { keys, ...sealed } };
}

function toBackup(setting: BackupSetting): BackupSetting {
  const { key, value, type, options, help, group, flag } = setting;
  return { key, value, type, options, help, group, flag };
}
