import { randomBytes } from "node:crypto";
import type { Store } from "../../src/store/stores.ts";
import { openParts, save, tester } from "../settings/parts.ts";
import { allRows } from "../store/audit-contract.ts";

/** A site's settings with sealed secrets, and a history of some revisions. */
export async function makeDatabase(path: string, revisions = 20): Promise<string> {
  const parts = await openParts(path, { keys: [randomBytes(32).toString("hex")] });
  await parts.settings.resetToken(tester);
  await save(parts, { aria2_secret: "hidden", mine: "sealed:v1:no", site_title: "Hafen ⚓" });
  for (let at = 0; at < revisions; at += 1) await save(parts, { announcement: `no ${at}` });
  await parts.close();
  return path;
}

/** Everything in a store. */
export async function contentOf(store: Store) {
  const state = await store.load();
  const commits = await store.commits(0, state.revision, state.revision);
  const { databaseId, fingerprintKey } = store;
  const audit = [await store.audit.floor(), await store.audit.head(), await allRows(store.audit)];
  await store.close();
  return { databaseId, fingerprintKey, state, commits, audit };
}
