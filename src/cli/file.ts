// Files that commands read and write.

import { randomUUID } from "node:crypto";
import { link, open, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { quote, systemCode } from "../config/complaint.ts";
import { CliFailure, EXIT, fileFailure } from "./failure.ts";
import type { World } from "./world.ts";

/** Source of bytes: a path, or `-` for standard input. */
export interface Source {
  readonly path: string;
  /** Maximum size in bytes. */
  readonly limit: number;
}

/**
 * Reads a whole file or standard input.
 *
 * @throws CliFailure when it can't be read or is larger than the limit.
 */
export async function readBytes(source: Source, world: World): Promise<Buffer> {
  const { path, limit } = source;
  const name = nameOf(path);
  try {
    if (path === "-") return await collect(world.stdin, name, limit);
    const file = await open(resolve(world.cwd, path), "r");
    return await collect(file.createReadStream(), name, limit);
  } catch (error) {
    throw error instanceof CliFailure ? error : fileFailure(`${name} can't be read`, error);
  }
}

/**
 * Reads text in UTF-8.
 *
 * @throws CliFailure for invalid UTF-8, and as `readBytes` does.
 */
export async function readText(source: Source, world: World): Promise<string> {
  const bytes = await readBytes(source, world);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CliFailure(EXIT.failed, `${nameOf(source.path)} is not UTF-8 text`);
  }
}

/** Name of a source in messages. */
export function nameOf(path: string): string {
  return path === "-" ? "standard input" : `the file ${quote(path)}`;
}

async function collect(
  stream: AsyncIterable<unknown>,
  name: string,
  limit: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as string | Uint8Array);
    size += bytes.length;
    if (size > limit)
      throw new CliFailure(EXIT.failed, `${name} has more than ${limit} bytes, the limit`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/** Maximum size of a value from a file, in bytes: that of a setting, and a line break. */
const VALUE_LIMIT = 16 * 1024 ** 2 + 2;

/** Reads a value from a file or standard input, without the final line break that editors add. */
export async function readValue(path: string, world: World): Promise<string> {
  const text = await readText({ path, limit: VALUE_LIMIT }, world);
  return text.replace(/\r?\n$/, "");
}

/** Mode of written files, which contain settings: only the owner can read them. */
const MODE = 0o600;

/**
 * Writes a file atomically: it gets its name only after it is on disk.
 *
 * @param text called when the file can be created. @param force replaces an existing file, which
 *   is an error otherwise.
 * @throws CliFailure, and the error of `text`.
 */
export async function writeNewFile(
  path: string,
  text: () => Promise<string>,
  { force }: { readonly force: boolean },
): Promise<void> {
  const draft = join(dirname(path), `.mooring-${randomUUID()}.tmp`);
  const explain = (error: unknown): unknown =>
    error instanceof CliFailure
      ? error
      : fileFailure(`the file ${quote(path)} can't be written`, error);
  const file = await open(draft, "wx", MODE).catch((error: unknown) => {
    throw explain(error);
  });
  try {
    const content = await text();
    try {
      await file.writeFile(content);
      await file.sync();
      await (force ? rename(draft, path) : place(draft, path));
    } catch (error) {
      throw explain(error);
    }
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
}

/** Failure for an existing file. */
export function existsAlready(path: string): CliFailure {
  return new CliFailure(
    EXIT.refused,
    `the file ${quote(path)} exists: choose another name, or replace it with --force`,
  );
}

/**
 * Gives the draft its final name unless that exists: a link does not replace a file, unlike a
 * rename.
 */
async function place(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (systemCode(error) === "EEXIST") throw existsAlready(path);
    // File systems without links, such as FAT.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(systemCode(error))) throw error;
    await claim(path);
    await rename(draft, path);
  }
}

async function claim(path: string): Promise<void> {
  try {
    await (await open(path, "wx", MODE)).close();
  } catch (error) {
    throw systemCode(error) === "EEXIST" ? existsAlready(path) : error;
  }
}
