import { randomUUID } from "node:crypto";
import { link, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { quote } from "../config/quote.ts";
import { EXIT } from "./exit-code.ts";
import { CliFailure, fileFailure } from "./failure.ts";

/** Only its owner may read what has settings in it. */
const MODE = 0o600;

/**
 * Writes a file whole or not at all: it stands under its name only once it is on disk.
 *
 * @param force replaces a file that exists; without it that is refused.
 * @throws CliFailure.
 */
export async function writeNewFile(
  path: string,
  text: string,
  { force }: { readonly force: boolean },
): Promise<void> {
  const draft = join(dirname(path), `.mooring-${randomUUID()}.tmp`);
  try {
    const file = await open(draft, "wx", MODE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await (force ? rename(draft, path) : place(draft, path));
  } catch (error) {
    throw error instanceof CliFailure
      ? error
      : fileFailure(`the file ${quote(path)} can't be written`, error);
  } finally {
    await rm(draft, { force: true });
  }
}

/** A file of that name exists and is not to be replaced. */
export function existsAlready(path: string): CliFailure {
  return new CliFailure(
    EXIT.refused,
    `the file ${quote(path)} exists: choose another name, or replace it with --force`,
  );
}

/** Gives the draft its name unless that is taken: a link, unlike a rename, replaces nothing. */
async function place(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (hasCode(error, "EEXIST")) throw existsAlready(path);
    // File systems without links, such as FAT.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].some((code) => hasCode(error, code)))
      throw error;
    await claim(path);
    await rename(draft, path);
  }
}

async function claim(path: string): Promise<void> {
  try {
    await (await open(path, "wx", MODE)).close();
  } catch (error) {
    throw hasCode(error, "EEXIST") ? existsAlready(path) : error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
