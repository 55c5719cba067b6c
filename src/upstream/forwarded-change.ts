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

/** Paths of changes for the audit: of users and roles, and of shares. */
const CHANGES = /^\/api\/(?:admin\/(user|role)|(share))\/(\w{1,32})$/;
const READS: ReadonlySet<string> = new Set(["list", "get"]);

/** Reports whether a request changes users, roles or shares of the upstream. */
export function changesPeople(method: string, path: string): boolean {
  const [, ofAdmin, share, call = ""] = CHANGES.exec(path) ?? [];
  return method === "POST" && (ofAdmin ?? share) !== undefined && !READS.has(call);
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

/**
 * Describes a change for the audit. Only these members are read: everything else may be a secret.
 *
 * @param target path with its query. @param body undefined: it was too large.
 */
export function describeChange(
  path: string,
  target: string,
  body: Buffer | undefined,
): ForwardedChange {
  const [, ofAdmin, share, call = ""] = CHANGES.exec(path) ?? [];
  const noun = ofAdmin ?? share ?? "";
  const given = membersOf(body);
  const query = URL.parse(target, "http://upstream")?.searchParams.get("id") ?? "";
  const name = textOf(given[noun === "user" ? "username" : noun === "role" ? "name" : "id"]);
  const id = textOf(given["id"] ?? query);
  const shown = name || (id === "" ? "" : noun === "share" ? id : `#${id}`);
  return {
    call: `${noun}/${call}`,
    subject: shown === "" ? "" : `${noun}:${shown}`,
    detail: { ...(id !== "" && { id }), ...openMembers(noun, given) },
  };
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
    ...(Array.isArray(files) && { files: files.slice(0, MAX_FILES).map(textOf) }),
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
