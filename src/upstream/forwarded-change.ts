import type { IncomingMessage } from "node:http";

/** Maximum size of a body that is read for the audit, in bytes. */
const MAX_BODY = 65_536;
/** Maximum length of a text in the audit, in characters. */
const MAX_TEXT = 200;
/** Maximum number of paths of a share in the audit. */
const MAX_FILES = 10;

/** Change of users or shares on the upstream's own pages, without secrets. */
export interface ForwardedChange {
  /** Such as `user/update`. */
  readonly call: string;
  /** Such as `user:ann`, or `user:#7` if only its id is known; empty: unknown. */
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Paths of calls about users, roles and shares: the noun of one of the two groups, and the call. */
const CALLS = /^\/api\/(?:admin\/(user|role)|(share))\/(\w{1,32})$/;
const READS: ReadonlySet<string> = new Set(["list", "get"]);

/** Noun and call of a path, such as `user` and `update`; undefined: another path. */
function callOf(path: string): { readonly noun: string; readonly call: string } | undefined {
  const [, ofAdmin, share, call = ""] = CALLS.exec(path) ?? [];
  const noun = ofAdmin ?? share;
  return noun === undefined ? undefined : { noun, call };
}

/** Reports whether a request changes users, roles or shares of the upstream. */
export function changesUsersOrShares(method: string, path: string): boolean {
  const found = callOf(path);
  return method === "POST" && found !== undefined && !READS.has(found.call);
}

/**
 * Copies the body of a request while it is passed. Called in the same tick as `Pipe.pass`.
 *
 * @returns a function that returns the body; undefined: it is larger than 64 KiB.
 */
export function copyBody(request: IncomingMessage): () => Buffer | undefined {
  const parts: Buffer[] = [];
  let size = 0;
  request.on("data", (part: Buffer) => {
    size += part.length;
    // The pipe releases the memory of a part after it was sent.
    if (size <= MAX_BODY) parts.push(Buffer.from(part));
    else parts.length = 0;
  });
  return () => (size <= MAX_BODY ? Buffer.concat(parts) : undefined);
}

/** Member of a body with the name of its object; objects of other nouns have only an id. */
const NAME_MEMBERS: Readonly<Record<string, string>> = { user: "username", role: "name" };

/**
 * Describes a change for the audit. Only the members named here are read: all others may be secrets.
 *
 * @param target path with its query.
 * @param body undefined: it was too large.
 */
export function describeChange(
  path: string,
  target: string,
  body: Buffer | undefined,
): ForwardedChange {
  const { noun, call } = callOf(path) ?? { noun: "", call: "" };
  const given = membersOf(body);
  const idOfQuery = URL.parse(target, "http://upstream")?.searchParams.get("id") ?? "";
  const id = textOf(given["id"] ?? idOfQuery);
  const name = textOf(given[NAME_MEMBERS[noun] ?? "id"]) || shownId(noun, id);
  return {
    call: `${noun}/${call}`,
    subject: name === "" ? "" : `${noun}:${name}`,
    detail: { ...(id !== "" && { id }), ...openMembers(noun, given) },
  };
}

/** The id of a share is its name; ids of others are numbers. */
function shownId(noun: string, id: string): string {
  return noun === "share" || id === "" ? id : `#${id}`;
}

/** Members of users, roles and shares that are no secrets. */
const OPEN: Readonly<Record<string, readonly string[]>> = {
  user: ["role", "permission", "base_path", "disabled"],
  role: ["default"],
  share: ["creator", "expires", "max_accessed", "disabled"],
};

function openMembers(
  noun: string,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const open = (OPEN[noun] ?? []).flatMap((name): [string, unknown][] => {
    const value = given[name];
    if (typeof value === "boolean" || typeof value === "number") return [[name, value]];
    const text = Array.isArray(value) ? value.map(textOf).join(", ") : textOf(value);
    return text === "" ? [] : [[name, text.slice(0, MAX_TEXT)]];
  });
  const { files } = given;
  return {
    ...Object.fromEntries(open),
    ...(noun === "share" &&
      Array.isArray(files) && { files: files.slice(0, MAX_FILES).map(textOf) }),
    ...(noun === "user" && textOf(given["password"]) !== "" && { password: "set" }),
  };
}

function membersOf(body: Buffer | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body?.toString("utf8") ?? "");
    return value !== null && typeof value === "object"
      ? (value as Readonly<Record<string, unknown>>)
      : {};
  } catch {
    return {};
  }
}

function textOf(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value.slice(0, MAX_TEXT) : "";
}
