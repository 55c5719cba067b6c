import type { BackupSetting } from "../../src/backup/setting.ts";
import { ServiceError } from "../../src/messages/error.ts";

/** A setting of a backup, with defaults for members that a test does not need. */
export function setting(members: Partial<BackupSetting> & { key: string }): BackupSetting {
  return { value: "", type: "string", options: "", help: "", group: 0, flag: 0, ...members };
}

/** The service error that a call throws or rejects with. */
export async function failureOf(call: () => unknown): Promise<ServiceError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
