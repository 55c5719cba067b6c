import { globSync, statSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";

/** Whether a built file is missing or older than one of its sources, which are globs. */
export function isStale(file: string, root: string, sources: readonly string[]): boolean {
  const paths = globSync(sources, { cwd: root }).map((path) => join(root, path));
  return madeAt(file) < Math.max(...paths.map(madeAt));
}

/** Modification time of a file, in milliseconds since 1970 UTC; 0: no file. */
function madeAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Writes FILE.br and FILE.gz, so that serving needs no compression. @param quality of Brotli. */
export async function compress(file: string, quality: number): Promise<void> {
  const bytes = await readFile(file);
  const params = {
    [zlib.BROTLI_PARAM_QUALITY]: quality,
    [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  const br = await promisify(brotliCompress)(bytes, { params });
  const gz = await promisify(gzip)(bytes, { level: zlib.Z_BEST_COMPRESSION });
  await Promise.all([writeFile(`${file}.br`, br), writeFile(`${file}.gz`, gz)]);
}
