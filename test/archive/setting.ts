import { ServiceError } from "../../src/messages/error.ts";
import type { KeptSetting } from "../../src/settings/archive/plan.ts";
import { thrown } from "../thrown.ts";

/** A setting of a backup, with defaults for members that a test does not need. */
export function setting(members: Partial<KeptSetting> & { key: string }): KeptSetting {
  return { value: "", type: "string", options: "", help: "", group: 0, flag: 0, ...members };
}

/** The service error that a call throws or rejects with. */
export const failureOf = (call: () => unknown) => thrown(ServiceError, call);
