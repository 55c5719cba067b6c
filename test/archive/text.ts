import { createHmac } from "node:crypto";
import type { ArchiveEntry, SecretValue } from "../../src/archive/part.ts";
import type { DeriveKey, PassphraseCipher } from "../../src/archive/passphrase.ts";
import { parseBackupJson } from "../../src/archive/readable.ts";
import { type ReadablePart, readSource, type Source } from "../../src/archive/source.ts";
import { decryptSetting, readSettings } from "../../src/settings/archive/row.ts";

/** The minimum cost of scrypt in a document. */
export const CHEAP = { n: 2 ** 14, r: 8, p: 1 };

/** Derives keys without scrypt, for tests that do not depend on its cost. */
export const quickKey: DeriveKey = async (passphrase, salt) =>
  createHmac("sha256", salt).update(passphrase).digest();

/** Parts as the program has them, as far as reading needs them. */
export const PARTS: readonly ReadablePart[] = [
  { name: "sites" },
  {
    name: "settings",
    server: { member: "settings", recognizes: (row) => "key" in row, decrypt: decryptSetting },
  },
  { name: "mounts", server: { member: "storages", recognizes: (row) => "mount_path" in row } },
];

/** Reads the text of a backup of any format. */
export async function readText(
  text: string,
  passphrase: string,
  cipher: PassphraseCipher,
): Promise<Source> {
  return readSource(await parseBackupJson(text), { passphrase, parts: PARTS }, cipher);
}

/** Settings of a source. */
export function settingsOf({ given }: Source) {
  const settings = given.get("settings");
  return settings === undefined ? [] : readSettings(settings);
}

/** An entry, with defaults for members that a test does not need. */
export function entry(
  name: string,
  content: Readonly<Record<string, unknown>> = {},
  secrets: Readonly<Record<string, SecretValue>> = {},
): ArchiveEntry {
  return { name, content, secrets, missing: [], isSealed: false };
}
