import SQLite from "better-sqlite3";
import type { ConsoleTest } from "./console.ts";

const DAY = 86_400_000;

/**
 * Restarts the service with all tokens created this number of days earlier; their expiry is
 * unchanged.
 */
export async function ageTokens(console: ConsoleTest, days: number): Promise<void> {
  await console.stop();
  const database = new SQLite(console.database());
  database.prepare("update access_token set created_at = created_at - ?").run(days * DAY);
  database.close();
  await console.start();
}
