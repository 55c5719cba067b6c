import { message } from "../../messages/message.ts";
import { MAX_RECORDS } from "../../records/limit.ts";
import type { SiteClient } from "../../sync/client.ts";
import { SiteFailure } from "../../sync/failure.ts";
import { isStorageRow, type StorageRow } from "./row.ts";

/** Time limit of a call that mounts, in milliseconds: a hanging provider takes 121 s. */
export const MOUNT_LIMIT = 130_000;
/** Time limit of a read, in milliseconds: a server that adds details of its mounts takes up to 3 s. */
const LIST_LIMIT = 20_000;

/** Kind of a server's refusal of a call about a mount. */
export type Refusal = "absent" | "already" | "unmounted" | "stored" | "other";

/** The calls of one server below `/api/admin/storage/`. Every method throws SiteFailure. */
export interface StorageClient {
  list(): Promise<readonly StorageRow[]>;
  /** @returns undefined when there is no such row. */
  get(id: number): Promise<StorageRow | undefined>;
  create(row: object, secrets: readonly string[]): Promise<void>;
  update(row: StorageRow, secrets: readonly string[]): Promise<void>;
  act(
    action: "enable" | "disable" | "delete",
    id: number,
    secrets: readonly string[],
  ): Promise<void>;
  /** Lists a folder with a refresh: servers cache listings across a change of root or account. */
  refresh(path: string): Promise<void>;
}

/** @param limit milliseconds of a call that mounts; default 130,000. */
export function createStorageClient(client: SiteClient, limit = MOUNT_LIMIT): StorageClient {
  const at = "/api/admin/storage";
  return {
    list: async () => {
      const data = await client.call("GET", `${at}/list?page=1&per_page=0`, undefined, {
        limit: LIST_LIMIT,
      });
      const rows = (data as { readonly content?: unknown } | null)?.content ?? [];
      // Refused as a whole: part of it would look like deleted mounts.
      if (Array.isArray(rows) && rows.length > MAX_RECORDS)
        throw new SiteFailure(
          "too_large",
          message("MOUNT_LIST_TOO_LONG", { count: rows.length, most: MAX_RECORDS }),
        );
      if (!Array.isArray(rows) || !rows.every(isStorageRow))
        throw new SiteFailure("foreign", message("MOUNT_LIST_INVALID"));
      return rows;
    },
    get: async (id) => {
      try {
        const row = await client.call("GET", `${at}/get?id=${known(id)}`, undefined, {
          limit: LIST_LIMIT,
        });
        // A server answers with its first row when the id is invalid.
        if (!isStorageRow(row) || row.id !== id)
          throw new SiteFailure("foreign", message("MOUNT_ANSWER_INVALID", { id }));
        return row;
      } catch (error) {
        if (refusalOf(error) === "absent") return undefined;
        throw error;
      }
    },
    create: async (row, secrets) => {
      await client.call("POST", `${at}/create`, row, { limit, secrets });
    },
    update: async (row, secrets) => {
      await client.call("POST", `${at}/update`, { ...row, id: known(row.id) }, { limit, secrets });
    },
    act: async (action, id, secrets) => {
      const path = `${at}/${action}?id=${known(id)}`;
      await client.call("POST", path, undefined, { limit, secrets });
    },
    refresh: async (path) => {
      const body = { path, refresh: true, page: 1, per_page: 1, password: "" };
      await client.call("POST", "/api/fs/list", body, { limit });
    },
  };
}

/** @throws Error for id 0 and below: servers treat 0 or a missing id as their first mount. */
function known(id: number): number {
  if (!Number.isSafeInteger(id) || id <= 0) throw new Error("a mount without an id is never sent");
  return id;
}

/** Kind of the refusal; undefined: the error is not a refusal. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof SiteFailure) || error.kind !== "refused") return undefined;
  const { words } = error;
  if (/record not found/i.test(words)) return "absent";
  if (/this storage have (?:enabled|disabled)/i.test(words)) return "already";
  if (/no mount path for an? storage/i.test(words)) return "unmounted";
  if (/failed init storage|failed load storage/i.test(words)) return "stored";
  return "other";
}
