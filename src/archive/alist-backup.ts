import { setImmediate } from "node:timers/promises";
import { isObject } from "../files/json-source.ts";
import { message } from "../messages/message.ts";
import type { ReadOptions } from "./mooring.ts";
import { checkPagePassphrase, decryptText, withoutJson } from "./page-encryption.ts";
import { LIMITS, unreadable } from "./readable.ts";
import { type ReadBackup, readSettings, type Skipped, type Unchecked } from "./setting.ts";

/** Settings that are decrypted per event-loop tick. */
const BATCH = 100;

const TEXT_MEMBERS = ["key", "value", "help", "type", "options"] as const;
const NUMBER_MEMBERS = ["group", "flag"] as const;

/** Reports whether this is a backup of the AList or OpenList web page. */
export function isAlistBackup(value: unknown): value is Unchecked {
  return isObject(value) && "settings" in value && !("format" in value);
}

/**
 * Reads a backup from the web interface of AList or OpenList, plain or encrypted.
 *
 * @throws INVALID_ARGUMENT when a password is missing or wrong, or the file has a wrong form.
 */
export async function readAlistBackup(
  file: Unchecked,
  { passphrase }: ReadOptions,
): Promise<ReadBackup> {
  const { encrypted = "", settings } = file;
  if (typeof encrypted !== "string") throw unreadable(message("BACKUP_ENCRYPTED_INVALID"));
  return {
    source: "alist-backup",
    settings: readSettings(
      encrypted === "" ? settings : await decryptAll(settings, encrypted, passphrase ?? ""),
    ),
    skipped: Object.entries(file).flatMap(([part, entries]) =>
      part === "settings" ? [] : skippedPart(part, entries),
    ),
  };
}

/**
 * A part of the file that is not settings.
 *
 * @param entries the list, or its length: clients that have the file send only that.
 */
export function skippedPart(part: string, entries: unknown): Skipped[] {
  const count = Array.isArray(entries) ? entries.length : entries;
  if (typeof count !== "number" || count <= 0) return [];
  const id = part === "storages" ? "STORAGES_IN_BACKUP" : "OTHER_THINGS_IN_BACKUP";
  return [{ key: part.slice(0, MAX_PART), reason: message(id, { count }) }];
}

/** Limit of the name of a part in a reply. */
const MAX_PART = 64;

async function decryptAll(settings: unknown, proof: string, password: string): Promise<unknown> {
  checkPagePassphrase(proof, password);
  if (!Array.isArray(settings) || settings.length > LIMITS.settings) return settings;
  const decrypted: unknown[] = [];
  for (const [at, setting] of settings.entries()) {
    // Each setting takes 70 µs: other work runs in between.
    if (at % BATCH === BATCH - 1) await setImmediate();
    decrypted.push(
      isObject(setting) ? decryptSetting(setting, password, `settings[${at}]`) : setting,
    );
  }
  return decrypted;
}

function decryptSetting(setting: Unchecked, password: string, path: string): Unchecked {
  const decrypt = (name: string): unknown => {
    const value = setting[name];
    if (typeof value !== "string" || value === "") return value;
    const text = decryptText(value, password);
    if (text === undefined) throw unreadable(message("BACKUP_VALUE_DAMAGED", { path, name }));
    return text;
  };
  const texts = TEXT_MEMBERS.map((name) => [name, mapText(decrypt(name), withoutJson)]);
  const numbers = NUMBER_MEMBERS.map((name) => [name, mapText(decrypt(name), toNumber)]);
  return Object.fromEntries([...texts, ...numbers]);
}

function mapText(value: unknown, map: (text: string) => unknown): unknown {
  return typeof value === "string" ? map(value) : value;
}

/** Number as JSON, or as text from an older page; other values are rejected later. */
function toNumber(text: string): unknown {
  const digits = withoutJson(text);
  return /^-?\d{1,15}$/.test(digits) ? Number(digits) : digits;
}
