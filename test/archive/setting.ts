import type { BackupSetting } from "../../src/archive/setting.ts";
import { ServiceError } from "../../src/messages/error.ts";
import { thrown } from "../thrown.ts";

/** A setting of a backup, with defaults for members that a test does not need. */
export function setting(members: Partial<BackupSetting> & { key: string }): BackupSetting {
  return { value: "", type: "string", options: "", help: "", group: 0, flag: 0, ...members };
}

/** The service error that a call throws or rejects with. */
export const failureOf = (call: () => unknown) => thrown(ServiceError, call);
