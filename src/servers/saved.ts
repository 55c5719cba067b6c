import { isObject } from "../is-object.ts";
import type { User, UserList } from "../users/user.ts";
import type { ServerContents, ServerRule, Share } from "./contents.ts";

/** Secret of an entry: users, rules and shares of a server as JSON. */
export const CONTENTS = "contents";

/** Maximum number of entries of a list: that of a server's list. */
const MAX_ENTRIES = 10_000;

/**
 * Reads the contents of a server as a backup has them, which may have been edited.
 *
 * @returns undefined: the text is not of this form.
 */
export function parseContents(text: string): ServerContents | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { users, rules, shares } = value;
  if (users !== undefined && !isUserList(users)) return undefined;
  if (rules !== undefined && !isListOf(rules, isRule)) return undefined;
  if (shares !== undefined && !isListOf(shares, isShare)) return undefined;
  return { ...(users && { users }), ...(rules && { rules }), ...(shares && { shares }) };
}

function isUserList(value: unknown): value is UserList {
  return (
    isObject(value) &&
    (value["family"] === "openlist" || value["family"] === "alist") &&
    isListOf(value["users"], isUser) &&
    isListOf(
      value["roles"],
      (role): role is object =>
        hasTexts(role, ["name", "definition"]) && typeof role["limitsPaths"] === "boolean",
    )
  );
}

function isUser(value: unknown): value is User {
  return (
    hasTexts(value, ["name", "basePath", "ssoId"]) &&
    value["name"] !== "" &&
    // An empty folder is the root of a server.
    String(value["basePath"]).startsWith("/") &&
    isListOf(value["roles"], isText) &&
    typeof value["disabled"] === "boolean" &&
    isBits(value["permission"]) &&
    ["undefined", "boolean"].includes(typeof value["allowLdap"])
  );
}

function isRule(value: unknown): value is ServerRule {
  return (
    hasTexts(value, ["path"]) &&
    isObject(value["members"]) &&
    isObject(value["users"]) &&
    Object.values(value["users"]).every((list) => isListOf(list, isText))
  );
}

function isShare(value: unknown): value is Share {
  return (
    hasTexts(value, ["id", "password", "creator", "expires"]) &&
    isListOf(value["files"], isText) &&
    Number.isSafeInteger(value["accessed"]) &&
    Number.isSafeInteger(value["maxAccessed"]) &&
    typeof value["disabled"] === "boolean" &&
    isObject(value["rest"])
  );
}

function isListOf<T>(value: unknown, isOne: (one: unknown) => one is T): value is T[] {
  return Array.isArray(value) && value.length <= MAX_ENTRIES && value.every(isOne);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed();
}

function hasTexts(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  return isObject(value) && names.every((name) => isText(value[name]));
}

/** Reports whether a number is one of 32 bits with a sign, as servers store permissions. */
function isBits(value: unknown): boolean {
  return typeof value === "number" && (value | 0) === value;
}
