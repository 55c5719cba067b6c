import { isObject } from "../files/json-source.ts";
import { invalid, type Violation } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { LIMITS, unreadable } from "./readable.ts";

/** Setting in a backup: the members of docs/rest-contract.md, section 2.4. */
export interface BackupSetting {
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly options: string;
  readonly help: string;
  readonly group: number;
  readonly flag: number;
}

/** Something in a backup that is not imported. */
export interface Skipped {
  /** Key of a setting, or the name of another part of the file, such as `users`. */
  readonly key: string;
  /** Reason for display. */
  readonly reason: Text;
}

/** Format of a backup. AList and OpenList write the same one. */
type BackupSource = "mooring" | "alist-backup" | "alist-database" | "setting-list";

/** Content of a backup of any format. */
export interface ReadBackup {
  readonly source: BackupSource;
  /** In the order of the backup, which may contain a key twice. */
  readonly settings: readonly BackupSetting[];
  /** Settings that the source omits. */
  readonly skipped: readonly Skipped[];
}

/** Unchecked entry of a list of settings. */
export type Unchecked = Readonly<Record<string, unknown>>;

/**
 * Checks the settings of a backup. Members that are absent or null are empty text or 0, as the
 * existing servers take them; unknown members are ignored.
 *
 * @param name - of the list, for messages.
 * @throws INVALID_ARGUMENT with up to 100 violations; none quotes a value.
 */
export function readSettings(list: unknown, name = "settings"): BackupSetting[] {
  if (!Array.isArray(list)) throw unreadable(message("BACKUP_NOT_ARRAY", { name }));
  if (list.length > LIMITS.settings)
    throw unreadable(
      message("BACKUP_TOO_MANY_SETTINGS", { count: list.length, most: LIMITS.settings }),
    );
  const violations: Violation[] = [];
  const settings = list.map((item: unknown, at) => {
    const report: Report = (member, reason) => {
      const field = `${name}[${at}]${member}`;
      if (violations.length < LIMITS.violations)
        violations.push({
          field,
          description: message("IN_BACKUP", { name: field, problem: reason }),
        });
    };
    if (!isObject(item)) report("", "is not an object");
    return readSetting(isObject(item) ? item : { key: "unknown" }, report);
  });
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
  return settings;
}

type Report = (member: string, reason: Text) => void;

function readSetting(members: Unchecked, report: Report): BackupSetting {
  const text = (name: string): string => {
    const value = members[name] ?? "";
    if (typeof value === "string") return value;
    report(`.${name}`, "must be text in double quotes");
    return "";
  };
  const whole = (name: string): number => {
    const value = members[name] ?? 0;
    if (Number.isSafeInteger(value)) return value as number;
    report(`.${name}`, message("ITEM_FRACTION"));
    return 0;
  };
  const { key = "" } = members;
  if (key === "" || key === null) report(".key", "is missing or empty");
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
