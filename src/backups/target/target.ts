/** File of a target. */
export interface StoredFile {
  readonly name: string;
  /** Size in bytes. */
  readonly size: number;
}

/**
 * Place for backups: a folder, a bucket of S3, or a collection of WebDAV. Names are those of backups,
 * and never contain a separator. Every call is bounded in time, and ends with its signal.
 *
 * @throws TargetFailure.
 */
export interface BackupTarget {
  /** Place for people, without credentials. */
  readonly place: string;
  list(signal: AbortSignal): Promise<readonly StoredFile[]>;
  /** @returns undefined: there is no such file. */
  read(name: string, signal: AbortSignal): Promise<Buffer | undefined>;
  /** Writes a file durably: it survives a failure of power after the return. */
  write(name: string, content: Buffer, signal: AbortSignal): Promise<void>;
  /** Gives a file its final name, durably and as a whole. */
  rename(from: string, to: string, signal: AbortSignal): Promise<void>;
  /** A missing file is no failure. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

/** Maximum size of a file that is read: that of an import. */
export { LIMITS as FILE_LIMITS } from "../../archive/readable.ts";

/** Failure of a target. The message is for people and has no credentials. */
export class TargetFailure extends Error {
  override readonly name = "TargetFailure";
}
