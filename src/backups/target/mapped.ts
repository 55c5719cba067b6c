import { unavailable } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { type BackupTarget, TargetFailure } from "./target.ts";

/** The target with its failures as UNAVAILABLE. */
export function mapTargetFailures(target: BackupTarget): BackupTarget {
  const { place } = target;
  const attempt = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof TargetFailure)) throw error;
      throw unavailable(message("BACKUP_TARGET_FAILED", { place, reason: error.message }), error);
    }
  };
  return {
    place,
    list: (...of) => attempt(target.list(...of)),
    read: (...of) => attempt(target.read(...of)),
    write: (...of) => attempt(target.write(...of)),
    rename: (...of) => attempt(target.rename(...of)),
    remove: (...of) => attempt(target.remove(...of)),
  };
}
