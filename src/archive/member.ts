import { isObject } from "../is-object.ts";
import { type Message, message } from "../messages/message.ts";

/** Reads the members of an entry. Problems never quote a value. */
export interface Members {
  /** Absent: empty. Texts have no NUL, which databases do not store. */
  text(name: string): string;
  /** Text of at most `most` characters. Absent: empty. */
  shortText(name: string, most: number): string;
  /** One of these texts. Absent or empty: the first one. */
  choice<T extends string>(name: string, choices: readonly [T, ...T[]]): T;
  /** Absent: false. */
  flag(name: string): boolean;
  /** Absent: none. */
  texts(name: string): readonly string[];
  /** Texts by their names. Absent: none. */
  textMap(name: string): Readonly<Record<string, string>>;
  /** Time in milliseconds since 1970 UTC, written in ISO 8601; undefined: absent. */
  time(name: string): number | undefined;
  /** The first problem. Undefined: every member that was read has the right type. */
  problem(): Message | undefined;
}

export function readMembers(content: Readonly<Record<string, unknown>>): Members {
  let problem: Message | undefined;
  const read = <T>(
    name: string,
    absent: T,
    form: Message,
    as: (value: unknown) => T | undefined,
  ): T => {
    const value = content[name];
    if (value === undefined || value === null) return absent;
    const found = as(value);
    if (found !== undefined) return found;
    problem ??= message("BACKUP_MEMBER_INVALID", { name, form });
    return absent;
  };
  const isText = (value: unknown): value is string =>
    typeof value === "string" && !value.includes("\0");
  return {
    text: (name) =>
      read(name, "", message("KIND_TEXT"), (value) => (isText(value) ? value : undefined)),
    shortText: (name, most) =>
      read(name, "", message("FORM_SHORT_TEXT", { most }), (value) =>
        isText(value) && value.length <= most ? value : undefined,
      ),
    choice: (name, choices) =>
      read(name, choices[0], message("FORM_CHOICE", { options: choices.join(", ") }), (value) =>
        value === "" ? choices[0] : choices.find((each) => each === value),
      ),
    flag: (name) =>
      read(name, false, message("KIND_BOOLEAN"), (value) =>
        typeof value === "boolean" ? value : undefined,
      ),
    texts: (name) =>
      read<readonly string[]>(name, [], message("FORM_TEXTS"), (value) =>
        Array.isArray(value) && value.every(isText) ? value : undefined,
      ),
    textMap: (name) =>
      read<Readonly<Record<string, string>>>(name, {}, message("FORM_TEXT_MAP"), (value) =>
        isObject(value) && Object.values(value).every(isText)
          ? (value as Record<string, string>)
          : undefined,
      ),
    time: (name) =>
      read<number | undefined>(name, undefined, message("FORM_TIME"), (value) => {
        const time = isText(value) ? Date.parse(value) : Number.NaN;
        return Number.isNaN(time) ? undefined : time;
      }),
    problem: () => problem,
  };
}

/** Time of a member, in ISO 8601. */
export function timeMember(time: number): string {
  return new Date(time).toISOString();
}
