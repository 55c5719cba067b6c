import type { Mount } from "./mount.ts";

/** Open part of a mount: everything but its name, its secrets and its revision. */
export type StoredMount = Omit<Mount, "name" | "revision" | "missing"> & {
  /** Absent: none. */
  readonly missing?: Mount["missing"];
};

/** Reads the open part of a mount, which is all that the history has of it. */
export function readBody(body: string): Omit<Mount, "name" | "revision"> {
  const stored = JSON.parse(body) as StoredMount;
  return { ...stored, missing: stored.missing ?? [] };
}
