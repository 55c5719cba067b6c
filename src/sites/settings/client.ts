import { message } from "../../messages/message.ts";
import type { CallOptions, SiteClient } from "../../sync/client.ts";
import { SiteFailure } from "../../sync/failure.ts";

/** Row of a site's list of settings. Additional members are sent back unchanged. */
export interface SiteRow {
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly options: string;
  readonly help: string;
  readonly group: number;
  readonly flag: number;
  readonly [member: string]: unknown;
}

/** The calls of one server about its settings. Every method throws SiteFailure. */
export interface SettingClient {
  /** All settings, or those of one group. */
  list(options?: CallOptions & { readonly group?: number }): Promise<readonly SiteRow[]>;
  /** Saves complete rows in one call. */
  save(rows: readonly SiteRow[], options?: CallOptions): Promise<void>;
}

/** Maximum number of settings of a site. A longer list is refused: part of it would look like missing settings. */
const MAX_ROWS = 5_000;
/** Maximum length of a key. */
const MAX_KEY = 1_000;

export function createSettingClient({ at, call }: Pick<SiteClient, "at" | "call">): SettingClient {
  return {
    list: async ({ group, ...options } = {}) => {
      const query = group === undefined ? "" : `?group=${group}`;
      const rows = await call("GET", `/api/admin/setting/list${query}`, undefined, options);
      if (Array.isArray(rows) && rows.length > MAX_ROWS)
        throw new SiteFailure(
          "too_large",
          message("SETTINGS_LIST_TOO_LONG", { at, count: rows.length, most: MAX_ROWS }),
        );
      if (!Array.isArray(rows) || !rows.every(isRow))
        throw new SiteFailure("foreign", message("NOT_A_SETTINGS_LIST", { at }));
      // Only Mooring has these members.
      if (rows.some((row) => "managed" in row && "secret" in row))
        throw new SiteFailure("mooring", message("SITE_IS_MOORING", { at }));
      return rows;
    },
    save: async (rows, options) => {
      await call("POST", "/api/admin/setting/save", rows, options);
    },
  };
}

/**
 * Requests a site's public settings, which need no token and are served only when its storages are loaded
 * (`/ping` is served earlier).
 *
 * @returns whether an OpenList or AList answered.
 */
export async function answers({ call }: Pick<SiteClient, "call">): Promise<boolean> {
  try {
    await call("GET", "/api/public/settings", undefined, { headers: { authorization: "" } });
    return true;
  } catch (error) {
    if (error instanceof SiteFailure) return false;
    throw error;
  }
}

const TEXTS = ["key", "value", "type", "options", "help"] as const;

function isRow(value: unknown): value is SiteRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  return (
    TEXTS.every((name) => typeof row[name] === "string") &&
    (row["key"] as string).length <= MAX_KEY &&
    ["group", "flag"].every((name) => Number.isInteger(row[name]))
  );
}

/**
 * Reads the permanent token of a server with the login of one of its admins, who may read it.
 *
 * @param authorization the admin's login.
 * @param clientId the admin's `client-id`, which AList binds a login to; undefined: none.
 * @returns the token; empty: the server has none.
 */
export async function readPermanentToken(
  client: Pick<SettingClient, "list">,
  authorization: string,
  clientId: string | undefined,
): Promise<string> {
  const rows = await client.list({
    headers: { authorization, ...(clientId === undefined ? {} : { "client-id": clientId }) },
    secrets: [authorization],
  });
  return rows.find(({ key }) => key === "token")?.value ?? "";
}
