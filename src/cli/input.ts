import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { quote } from "../config/quote.ts";
import { EXIT } from "./exit-code.ts";
import { CliFailure, fileFailure } from "./failure.ts";
import type { World } from "./world.ts";

/** Where bytes are read from: a path, or `-` for standard input. */
export interface Source {
  readonly path: string;
  /** Bytes at most. */
  readonly limit: number;
}

/**
 * Reads a file, or standard input, whole.
 *
 * @throws CliFailure when it can't be read or is larger than the limit.
 */
async function readBytes(source: Source, world: World): Promise<Buffer> {
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
 * @throws CliFailure when it is no UTF-8, and as `readBytes` does.
 */
export async function readText(source: Source, world: World): Promise<string> {
  const bytes = await readBytes(source, world);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CliFailure(EXIT.failed, `${nameOf(source.path)} is no text in UTF-8`);
  }
}

/** How a source is called in messages. */
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
      throw new CliFailure(EXIT.failed, `${name} has more than the ${limit} bytes that are read`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
