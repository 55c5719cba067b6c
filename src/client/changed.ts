import type { Setting } from "../../gen/mooring/v1/setting_pb.js";

/** Flag of settings that the service or the server maintains itself, such as `version`. */
const READ_ONLY = 2;
/** Key of the admin token, which every database has. */
const TOKEN = "token";

/**
 * Reports whether somebody has given a setting a value other than its default. Masked secrets have
 * no value to compare: they count once they are saved.
 */
export function isChanged({
  key,
  flag,
  secret,
  value,
  default: unset,
  revision,
}: Setting): boolean {
  if (flag === READ_ONLY || key === TOKEN) return false;
  return secret ? revision !== 0n : value !== unset;
}
