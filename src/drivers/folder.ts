import { createHash } from "node:crypto";
import { constants, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { CatalogueError } from "./catalogue.ts";
import { LIMITS } from "./limits.ts";
import { DriverFileError, type Problem, type SourceText, wholeFile } from "./problem.ts";

/** Content of a deployment's folder of driver files at one time. */
export interface FolderContent {
  /** In the order of their names. */
  readonly sources: readonly SourceText[];
  /** Changes with the files' names and bytes. */
  readonly hash: string;
}

/**
 * Number of times that the list is read again when a file disappears between listing and reading.
 */
const ATTEMPTS = 3;

/**
 * Reads the `*.json` files of a folder, without subfolders and names that begin with a dot. Links
 * are followed, so that a mounted Kubernetes ConfigMap (links through `..data`) works.
 *
 * @throws CatalogueError when the folder cannot be read or has too many files.
 * @throws DriverFileError for files that cannot be read, are too large or are not UTF-8.
 */
export async function readFolder(directory: string): Promise<FolderContent> {
  for (let attempt = 1; ; attempt += 1) {
    const results = await readSources(directory, await listFolder(directory));
    const vanished = results.some((result) => result.vanished === true);
    if (vanished && attempt < ATTEMPTS) continue;
    const problems = results.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
    if (problems.length > 0) throw new DriverFileError(problems);
    const sources = results.flatMap(({ source }) => (source === undefined ? [] : [source]));
    return { sources, hash: hashOf(sources) };
  }
}

/** Names of the driver files in a folder, sorted. */
export async function listFolder(directory: string): Promise<string[]> {
  const entries = await readdir(directory).catch((error: unknown) => {
    throw new CatalogueError(`driver folder ${directory}: ${folderReason(error)}`, {
      cause: error,
    });
  });
  const names = entries.filter((name) => name.endsWith(".json") && !name.startsWith("."));
  if (names.length > LIMITS.files) {
    throw new CatalogueError(
      `driver folder ${directory}: ${names.length} files; ${LIMITS.files} is the most`,
    );
  }
  return names.sort();
}

interface ReadResult {
  readonly source?: SourceText;
  readonly problem?: Problem;
  readonly vanished?: boolean;
}

/** Sequential, so that a large folder does not need the memory of all its files at once. */
async function readSources(directory: string, names: readonly string[]): Promise<ReadResult[]> {
  const results: ReadResult[] = [];
  let size = 0;
  for (const name of names) {
    const result = await readSource(directory, name);
    results.push(result);
    size += result.source?.text.length ?? 0;
    if (size > LIMITS.folderLength) {
      const most = LIMITS.folderLength / 1024 / 1024;
      throw new CatalogueError(`driver folder ${directory}: more than ${most} MiB in all`);
    }
  }
  return results;
}

async function readSource(directory: string, name: string): Promise<ReadResult> {
  const file = join(directory, name);
  try {
    const reason = await refusal(file);
    if (reason !== undefined) return { problem: wholeFile(file, reason) };
    const bytes = await readBytes(file);
    if (bytes.length > LIMITS.fileBytes) return { problem: wholeFile(file, TOO_LARGE) };
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { source: { file, text } };
  } catch (error) {
    const code = codeOf(error);
    const reason = FILE_REASONS[code] ?? `cannot be read (${code})`;
    return { problem: wholeFile(file, reason), vanished: code === "ENOENT" };
  }
}

const TOO_LARGE = `is larger than ${LIMITS.fileBytes / 1024} KiB, the limit for a driver file`;

/** Checked before opening: opening a device may have side effects. */
async function refusal(file: string): Promise<string | undefined> {
  const facts = await stat(file);
  if (!facts.isFile()) return "is not a file: remove it or rename it";
  return facts.size > LIMITS.fileBytes ? TOO_LARGE : undefined;
}

/** Never more than one byte above the limit, even if the file has grown. */
async function readBytes(file: string): Promise<Buffer> {
  // The file may have become a pipe, whose opening would wait for a writer.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(LIMITS.fileBytes + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) return buffer.subarray(0, length);
      length += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

const FILE_REASONS: Readonly<Record<string, string>> = {
  ENOENT: "is a link to a file that does not exist",
  ELOOP: "is a link to itself",
  EACCES: "cannot be read: permission denied",
  ERR_ENCODING_INVALID_ENCODED_DATA: "is not UTF-8 text",
};

function folderReason(error: unknown): string {
  const code = codeOf(error);
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "there is no such folder",
    ENOTDIR: "is not a folder",
    EACCES: "cannot be read: permission denied",
  };
  return reasons[code] ?? `cannot be read (${code})`;
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : String(error);
}

function hashOf(sources: readonly SourceText[]): string {
  const hash = createHash("sha256");
  for (const { file, text } of sources) hash.update(JSON.stringify([file, text]));
  return hash.digest("hex");
}
