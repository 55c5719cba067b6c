import { message } from "../../messages/message.ts";
import { MAX_RECORDS } from "../../records/limit.ts";
import type { SiteClient } from "../../sync/client.ts";
import { SiteFailure } from "../../sync/failure.ts";
import { readPages } from "../../sync/page.ts";
import { createUserClient } from "../../users/client.ts";
import { createSiteUsers, isRuleRow, type RuleRow, type SiteUsers } from "./row.ts";

/** Kind of a server's refusal of a call about a rule. */
export type Refusal = "absent" | "taken" | "other";

/** The calls of one server about folder rules. Every method throws SiteFailure. */
export interface RuleClient {
  list(): Promise<readonly RuleRow[]>;
  /** @returns undefined when there is no such row. */
  get(id: number): Promise<RuleRow | undefined>;
  create(body: object, secrets: readonly string[]): Promise<void>;
  /** Replaces the whole row. */
  update(id: number, body: object, secrets: readonly string[]): Promise<void>;
  delete(id: number): Promise<void>;
  users(): Promise<SiteUsers>;
}

export function createRuleClient(client: SiteClient): RuleClient {
  const at = "/api/admin/meta";
  return {
    list: () =>
      readPages(client, `${at}/list`, {
        isRow: isRuleRow,
        idOf: ({ id }) => id,
        most: MAX_RECORDS,
      }),
    get: async (id) => {
      try {
        const row = await client.call("GET", `${at}/get?id=${known(id)}`);
        if (!isRuleRow(row) || row.id !== id)
          throw new SiteFailure("foreign", message("LIST_INVALID", { list: "admin/meta/get" }));
        return row;
      } catch (error) {
        if (refusalOf(error) === "absent") return undefined;
        throw error;
      }
    },
    create: async (body, secrets) => {
      await client.call("POST", `${at}/create`, body, { secrets });
    },
    update: async (id, body, secrets) => {
      await client.call("POST", `${at}/update`, { ...body, id: known(id) }, { secrets });
    },
    delete: async (id) => {
      await client.call("POST", `${at}/delete?id=${known(id)}`);
    },
    users: async () => createSiteUsers((await createUserClient(client).list()).users),
  };
}

/** @throws Error for id 0 and below: servers treat 0 or a missing id as their first rule. */
function known(id: number): number {
  if (!Number.isSafeInteger(id) || id <= 0) throw new Error("a rule without an id is never sent");
  return id;
}

/** Kind of the refusal; undefined: the error is not a refusal. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof SiteFailure) || error.kind !== "refused") return undefined;
  const { words } = error;
  if (/record not found/i.test(words)) return "absent";
  return /unique|duplicate/i.test(words) ? "taken" : "other";
}
