import { posix } from "node:path";

/**
 * Normalizes a path as servers do: forward slashes, a leading slash, no dot segments, no trailing
 * slash.
 */
export function cleanPath(path: string): string {
  const clean = posix.normalize(`/${path.replaceAll("\\", "/")}`);
  return clean === "/" ? clean : clean.replace(/\/+$/, "");
}
