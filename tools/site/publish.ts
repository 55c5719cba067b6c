import { hash } from "node:crypto";
import { globSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { compress } from "../built.ts";

/** Manifest of a built site, which the service reads. Written last. */
export const MANIFEST = "site.json";

/** Extensions of compressed formats. */
const COMPRESSED = [".png", ".woff2"];
/** Quality of Brotli: half a percent larger than the highest quality, in a tenth of the time. */
const QUALITY = 9;
/** Number of concurrent files: the thread pool has four threads. */
const AT_A_TIME = 8;

/**
 * Converts the files of a built site for the service: each text as Brotli and gzip, and a manifest
 * with entity tags.
 */
export async function publish(folder: string): Promise<void> {
  const names = globSync("**/*.*", { cwd: folder }).map((name) => name.split(sep).join("/"));
  const tags = new Map<string, string>();
  const waiting = names.sort().values();
  const work = async (): Promise<void> => {
    for (const name of waiting) {
      const bytes = await readFile(join(folder, name));
      tags.set(name, hash("sha256", bytes, "base64url").slice(0, 22));
      if (COMPRESSED.includes(extname(name))) continue;
      await compress(join(folder, name), QUALITY);
      await rm(join(folder, name));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  const files = Object.fromEntries([...tags].sort());
  await writeFile(join(folder, MANIFEST), JSON.stringify({ files }));
}
