import { type OpenText, openMember, withoutJson } from "../../archive/page-encryption.ts";
import type { ArchiveEntry, GivenEntries } from "../../archive/part.ts";
import { LIMITS } from "../../archive/readable.ts";
import { isObject } from "../../is-object.ts";
import { rejectViolations, type Violation } from "../../messages/error.ts";
import { message, type Text } from "../../messages/message.ts";

/** Setting of an import: the members of docs/rest-contract.md, section 2.4. */
export interface SourceSetting {
  readonly key: string;
  /** Undefined: the source does not have it. */
  readonly value: string | undefined;
  readonly type: string;
  readonly options: string;
  readonly help: string;
  readonly group: number;
  readonly flag: number;
  /** Reason for which the value is not known. */
  readonly absent?: Text;
}

/**
 * Checks the settings of an import. Members that are absent or null are empty text or 0, as the
 * existing servers take them; unknown members are ignored.
 *
 * @returns in the order of the source; the last of equal keys counts, as in a save of the existing
 *   servers. @throws INVALID_ARGUMENT with up to 100 violations; none quotes a value.
 */
export function readSettings(given: GivenEntries): SourceSetting[] {
  const violations: Violation[] = [];
  const members: readonly unknown[] =
    given.entries === undefined ? given.rows : given.entries.map(membersOf);
  const settings = members.map((row: unknown, at) => {
    const report: Report = (member, problem) => {
      const field = `settings[${at}]${member}`;
      if (violations.length < LIMITS.violations)
        violations.push({ field, description: message("IN_BACKUP", { name: field, problem }) });
    };
    if (!isObject(row)) report("", message("ENTRY_NOT_OBJECT"));
    const absent = given.entries?.[at] && absenceOf(given.entries[at]);
    const setting = readSetting(isObject(row) ? row : { key: "unknown" }, report);
    return absent === undefined ? setting : { ...setting, value: undefined, absent };
  });
  rejectViolations(violations);
  return [...new Map(settings.map((setting) => [setting.key, setting])).values()];
}

function membersOf({ name: key, content, secrets }: ArchiveEntry): Record<string, unknown> {
  return { ...content, ...secrets, key };
}

function absenceOf({ missing, isSealed }: ArchiveEntry): Text | undefined {
  if (!missing.includes("value")) return undefined;
  return message(isSealed ? "SEALED_IN_BACKUP" : "SECRET_LEFT_OUT");
}

type Report = (member: string, reason: Text) => void;

function readSetting(members: Readonly<Record<string, unknown>>, report: Report): SourceSetting {
  const text = (name: string): string => {
    const value = members[name] ?? "";
    if (typeof value === "string") return value;
    report(`.${name}`, message("TEXT_NOT_QUOTED"));
    return "";
  };
  const whole = (name: string): number => {
    const value = members[name] ?? 0;
    if (Number.isSafeInteger(value)) return value as number;
    report(`.${name}`, message("ITEM_FRACTION"));
    return 0;
  };
  const { key = "" } = members;
  if (key === "" || key === null) report(".key", message("ITEM_EMPTY"));
  return {
    key: text("key"),
    value: text("value"),
    type: text("type"),
    options: text("options"),
    help: text("help"),
    group: whole("group"),
    flag: whole("flag"),
  };
}

const TEXT_MEMBERS = ["key", "value", "help", "type", "options"] as const;
const NUMBER_MEMBERS = ["group", "flag"] as const;

/** Decrypts a setting of an encrypted backup of the web page of AList or OpenList. */
export async function decryptSetting(
  setting: Readonly<Record<string, unknown>>,
  open: OpenText,
  path: string,
): Promise<Record<string, unknown>> {
  const decrypted: Record<string, unknown> = {};
  const decrypt = async (name: string, read: (text: string) => unknown): Promise<void> => {
    const text = await openMember(setting[name], open, { path, name });
    decrypted[name] = text === undefined ? setting[name] : read(text);
  };
  for (const name of TEXT_MEMBERS) await decrypt(name, withoutJson);
  for (const name of NUMBER_MEMBERS) await decrypt(name, toNumber);
  return decrypted;
}

/** Number as JSON, or as text from an older page; other values are rejected later. */
function toNumber(text: string): unknown {
  const digits = withoutJson(text);
  return /^-?\d{1,15}$/.test(digits) ? Number(digits) : digits;
}
