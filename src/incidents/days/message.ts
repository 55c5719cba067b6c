import type { Text } from "../../messages/message.ts";
import { invalidPageToken } from "../../messages/page.ts";
import { dateOf } from "./day.ts";
import type { Strip, StripPlace } from "./service.ts";

export function stripToken({ site, path }: StripPlace): string {
  return Buffer.from(JSON.stringify([site, path])).toString("base64url");
}

/** Place of a page token; undefined: the beginning. @throws INVALID_ARGUMENT. */
export function stripPlace(token: string): StripPlace | undefined {
  if (token === "") return undefined;
  try {
    const place: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    const [site, path] = Array.isArray(place) ? (place as unknown[]) : [];
    if (typeof site === "string" && typeof path === "string") return { site, path };
  } catch {
    // Reported below.
  }
  throw invalidPageToken();
}

export function stripToProto({ site, path, days }: Strip, say: (text: Text) => string) {
  return {
    site,
    mountPath: path,
    days: days.map(({ day, worked, failed, unmonitored, reason }) => ({
      date: dateOf(day),
      workedSeconds: worked,
      failedSeconds: failed,
      unmonitoredSeconds: unmonitored,
      reason: say(reason),
    })),
  };
}
