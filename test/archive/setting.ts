import type { KeptSetting } from "../../src/settings/archive/plan.ts";

/** A setting of a backup, with defaults for members that a test does not need. */
export function setting(members: Partial<KeptSetting> & { key: string }): KeptSetting {
  return { value: "", type: "string", options: "", help: "", group: 0, flag: 0, ...members };
}
