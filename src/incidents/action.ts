import type { ConfigItem, DriverInfo } from "../drivers/driver-info.ts";
import { type Message, message } from "../messages/message.ts";
import { itemKind } from "../mounts/site/item-kind.ts";
import type { IncidentClass } from "./incident.ts";

/** Advice for each class of incident. */
const ACTIONS: Readonly<Record<IncidentClass, Message>> = {
  credential: message("DO_REPLACE_CREDENTIAL"),
  person: message("DO_SIGN_IN"),
  quota: message("DO_WAIT"),
  network: message("DO_CHECK_NETWORK"),
  configuration: message("DO_COMPARE_CONFIGURATION"),
  unknown: message("DO_READ_LOG"),
};

/** Advice for a user about an incident. */
export function actionOf(kind: IncidentClass): Message {
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
