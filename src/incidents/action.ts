import type { ConfigItem, DriverInfo } from "../drivers/driver-info.ts";
import { itemKind } from "../mounts/site/item-kind.ts";
import type { IncidentClass } from "./incident.ts";

/** What to do, in English; `src/data/errors.json` has the same sentences for translations. */
const ACTIONS: Readonly<Record<IncidentClass, string>> = {
  credential:
    "Get a new credential from the provider, replace it in the mount, and disable and enable the mount.",
  person:
    "The provider asks for a person: sign in there, confirm what it asks for, and enable the mount again.",
  quota: "Wait until the provider's limit ends, free space, or list the mount less often.",
  network:
    "The site does not reach the provider: check network, DNS and proxy of the site's machine.",
  configuration: "A value of the mount is wrong: compare its paths and names with the provider's.",
  unknown: "Read the message, and the log of the site, which has more of it.",
};

/** What a user does about an incident, in English. */
export function actionOf(kind: IncidentClass): string {
  return ACTIONS[kind];
}

/** Items of a driver that may have to be replaced: credentials, for classes that are about them. */
export function itemsToReplace(
  kind: IncidentClass,
  driver: DriverInfo | undefined,
): readonly ConfigItem[] {
  if (driver === undefined || (kind !== "credential" && kind !== "person")) return [];
  return driver.additional.filter(
    ({ name, secret }) => secret || itemKind(driver.config.name, name) === "learned",
  );
}
