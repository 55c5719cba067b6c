// Parts of error messages: external texts, system errors.

const MAX_QUOTED = 100;

/**
 * Quotes an external text: truncated, with control characters escaped, and without the user and
 * password of a URL, which may be pasted anywhere.
 */
export function quote(text: string): string {
  const shown = text.replace(/(^|:)\/\/.*@/s, "$1//…@");
  const cut = shown.length > MAX_QUOTED ? `${shown.slice(0, MAX_QUOTED)}…` : shown;
  // JSON escapes only control characters below space; terminals also interpret others.
  return JSON.stringify(cut).replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Descriptions of file system errors. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of the path is not a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  EISDIR: "it is a folder",
  ENOSPC: "the disk is full",
  EDQUOT: "the quota of this user is used up",
};

/** The code of a system error, such as `ENOENT`; `unknown error` for any other error. */
export function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}

/** Reason for which a file can't be used, as the end of a sentence. */
export function reasonOf(error: unknown): string {
  const code = systemCode(error);
  return REASONS[code] ?? code;
}
