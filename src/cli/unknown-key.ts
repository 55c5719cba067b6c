import { status } from "@grpc/grpc-js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { editDistance, nearestName } from "../config/nearest.ts";
import { type Caller, CallFailure } from "./caller.ts";

/**
 * Reads something by keys. When the service does not know one of them, the failure names the key
 * that was probably meant.
 */
export async function withNearestKey<T>(
  calls: Caller,
  keys: readonly string[],
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CallFailure) || error.code !== status.NOT_FOUND) throw error;
    const meant = await nearestKey(calls, keys);
    if (meant === undefined) throw error;
    throw new CallFailure({
      code: error.code,
      message: `${error.message}: did you mean ${meant}?`,
      answered: true,
    });
  }
}

/** The key that is nearest to the first unknown one, when it is near. */
async function nearestKey(calls: Caller, keys: readonly string[]): Promise<string | undefined> {
  const { settings } = await calls.unary(SettingService.method.listSettings, { maskSecrets: true });
  const known = settings.map(({ key }) => key);
  const unknown = keys.find((key) => !known.includes(key)) ?? "";
  const nearest = nearestName(unknown, known);
  if (nearest === undefined) return undefined;
  const edits = editDistance(unknown.slice(0, 255).toLowerCase(), nearest.toLowerCase());
  return edits <= Math.max(2, Math.floor(unknown.length / 3)) ? nearest : undefined;
}
