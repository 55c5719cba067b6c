import { expect, onTestFinished } from "vitest";
import { StoreError } from "../../../src/database/error.ts";
import { postgresServer } from "../../../src/database/postgres/server.ts";
import type { LedgerStore } from "../../../src/ledger/store.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { thrown } from "../../thrown.ts";
import { setting } from "../sample.ts";

/** Long enough for a busy machine. */
export const SOON = { timeout: 60_000, interval: 20 };

/** Opens a store and reads it; closed with the test. */
export async function opened(url: string, now = Date.now) {
  const logged: string[] = [];
  const notify = (level: string, message: string): void => void logged.push(`${level}: ${message}`);
  const store = await openPostgresStore(postgresServer(url, "the-place"), { notify, now });
  onTestFinished(() => store.close());
  await store.load();
  return { store, logged };
}

/** Saves one setting, as a revision. */
export const save = (store: LedgerStore, revision: number, value = String(revision)) =>
  store.transact((trx) => trx.write(setting(revision, { a: value })));

/** Failure of an action: a StoreError of one sentence. */
export async function failureOf(action: () => unknown): Promise<StoreError> {
  const error = await thrown(StoreError, action);
  expect(error.message).not.toContain("\n");
  return error;
}

export const nameOf = (url: string): string => url.split("/").at(-1) ?? "";
