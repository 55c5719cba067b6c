import { readImport } from "../../src/archive/backup.ts";
import { createBackup, type ReadDocument, type ReadOptions } from "../../src/archive/mooring.ts";
import type { PassphraseCipher } from "../../src/archive/passphrase.ts";

/** The minimum cost of scrypt in a document. */
export const CHEAP = { n: 2 ** 14, r: 8, p: 1 };

/** The text of a backup file. */
export async function writeBackup(...input: Parameters<typeof createBackup>): Promise<string> {
  return `${JSON.stringify(await createBackup(...input), null, 2)}\n`;
}

/** Reads Mooring's own backup. */
export async function readBackup(
  text: string,
  options: ReadOptions,
  cipher: PassphraseCipher,
): Promise<ReadDocument> {
  const read = await readImport({ text }, options, cipher);
  if (read.source !== "mooring") throw new Error(`this is a backup of ${read.source}`);
  return read as ReadDocument;
}
