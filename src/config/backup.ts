// Parsers of the variables of backups.
import { oddCharacters } from "./address.ts";
import type { Parsed, Parser } from "./value.ts";
import { path } from "./value.ts";

/** Periods of which the newest backup is kept. */
export const PERIODS = ["hourly", "daily", "weekly", "monthly", "yearly"] as const;

/** Numbers of kept backups: of the newest ones (`last`), and of the newest of each period. */
export type Keep = Readonly<Partial<Record<"last" | (typeof PERIODS)[number], number>>>;

const MOST_KEPT = 10_000;

/** Numbers such as `daily=7,weekly=4,monthly=12`. At least one backup is kept. */
export const keepCounts: Parser<Keep> = (text) => {
  const names: readonly string[] = ["last", ...PERIODS];
  const keep: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [, name = "", digits = ""] = /^\s*([a-z]+)=(\d{1,6})\s*$/.exec(part) ?? [];
    const count = Number(digits);
    if (!names.includes(name) || digits === "" || count > MOST_KEPT)
      return {
        complaint: `is not a list of ${names.join(", ")} with numbers up to ${MOST_KEPT}, such as daily=7,weekly=4,monthly=12`,
      };
    if (Object.hasOwn(keep, name)) return { complaint: `has ${name} twice` };
    keep[name] = count;
  }
  if (Object.values(keep).every((count) => count === 0))
    return { complaint: "keeps no backup: at least one number must be above 0" };
  return { value: keep };
};

/** Place of backups. */
export type BackupPlace =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "s3"; readonly bucket: string; readonly prefix: string }
  | { readonly kind: "webdav"; readonly url: string };

/**
 * A folder, `s3://BUCKET/PREFIX`, or the address of a WebDAV collection. Credentials are refused in
 * it: they have variables of their own.
 */
export const backupPlace: Parser<BackupPlace> = (text, context): Parsed<BackupPlace> => {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    const folder = path(text, context);
    return "value" in folder ? { value: { kind: "folder", path: folder.value } } : folder;
  }
  const url = URL.parse(text);
  if (url === null) return { complaint: "is not a path, s3://BUCKET/PREFIX or https://HOST/PATH" };
  if (url.username !== "" || url.password !== "")
    return {
      complaint: "has a user or password: use MOORING_BACKUP_USER and MOORING_BACKUP_PASSWORD_FILE",
    };
  if (url.search !== "" || url.hash !== "") return { complaint: "has a part after its path" };
  const odd = oddCharacters(text);
  if (odd !== undefined) return { complaint: odd };
  switch (url.protocol) {
    case "s3:": {
      const bucket = url.hostname;
      if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
        return { complaint: "has no name of a bucket, such as s3://backups/mooring" };
      const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, "");
      return { value: { kind: "s3", bucket, prefix } };
    }
    case "http:":
    case "https:":
      return { value: { kind: "webdav", url: url.href.replace(/\/*$/, "/") } };
    default:
      return { complaint: "is not a path, s3://BUCKET/PREFIX or https://HOST/PATH" };
  }
};
