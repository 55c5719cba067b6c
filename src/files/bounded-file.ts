import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/**
 * Reads a whole file. It throws an Error whose message continues a sentence after the path, such as
 * `is a folder`, and does not quote the content.
 */
export type ReadBoundedFile = (path: string, maxBytes: number) => Buffer;

/** Opening a pipe without a writer would block the process otherwise. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

/** The real {@link ReadBoundedFile}. It reads regular files only: reading a pipe could block. */
export const readBoundedFile: ReadBoundedFile = (path, maxBytes) => {
  let file: number | undefined;
  try {
    file = openSync(path, READ);
    const facts = fstatSync(file);
    if (!facts.isFile()) throw new Error("is not a file");
    if (facts.size > maxBytes) throw new Error(`has more than ${maxBytes} bytes`);
    return readAtMost(file, maxBytes);
  } catch (error) {
    throw explain(error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
};

/** Reads at most one byte above the limit, even if the file has grown. */
function readAtMost(file: number, maxBytes: number): Buffer {
  const buffer = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (;;) {
    const count = readSync(file, buffer, length, buffer.length - length, null);
    length += count;
    if (length > maxBytes) throw new Error(`has more than ${maxBytes} bytes`);
    if (count === 0) return buffer.subarray(0, length);
  }
}

/** Descriptions of system errors. */
const reasons = new Map([
  ["ENOENT", "does not exist"],
  ["ENOTDIR", "does not exist: a part of the path is not a folder"],
  ["EACCES", "cannot be read: permission denied"],
  ["EPERM", "cannot be read: permission denied"],
  ["ELOOP", "is a link to itself"],
]);

function explain(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  const code = String(error.code);
  return new Error(reasons.get(code) ?? `can't be read (${code})`);
}

/** Decodes UTF-8 without NUL, or throws an Error like {@link ReadBoundedFile}. */
export function textOf(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("is not text in UTF-8");
  }
  if (text.includes("\0")) throw new Error("is not text: it has a NUL character");
  return text;
}
