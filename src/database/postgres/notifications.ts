import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import type { Notify } from "../error.ts";
import type { Database } from "../schema.ts";
import type { Listening, PostgresServer } from "./server.ts";

/** Time limit of the test that notifications arrive, in milliseconds. */
const PROOF = 1_000;
/** Pause before the next attempt to listen, after a lost connection and after a failed test, in milliseconds. */
const LISTEN_AGAIN = 1_000;
const PROVE_AGAIN = 60_000;

export interface NotificationDeps {
  readonly server: PostgresServer;
  readonly db: Kysely<Database>;
  readonly channel: string;
  /** Id of this process in its test notifications. */
  readonly instanceId: string;
  readonly notify: Notify;
  readonly onHeard: (payload: string) => void;
  /** Description of the fallback, for the log. */
  readonly instead: string;
}

/** Notifications between instances, over a separate connection. They are hints: any may be lost. */
export class Notifications {
  readonly #deps: NotificationDeps;
  #listening: Listening | undefined;
  /** In time of `performance.now()`; infinite while notifications arrive or are being set up. */
  #again = Number.POSITIVE_INFINITY;
  #isTold = false;
  #isClosed = false;

  constructor(deps: NotificationDeps) {
    this.#deps = deps;
  }

  /** Whether notifications arrive. */
  get isOn(): boolean {
    return this.#listening !== undefined;
  }

  /** Whether the next attempt is due. */
  get isDue(): boolean {
    return performance.now() > this.#again;
  }

  /** Notifies the other instances. If it fails, they detect the change by their own queries. */
  send(payload: string): void {
    this.#sent(payload).catch(() => undefined);
  }

  /** Opens the connection, and tests that notifications arrive. Never rejects. */
  async begin(): Promise<void> {
    const { server, channel, instanceId, onHeard, notify } = this.#deps;
    const proof = `proof ${instanceId} ${performance.now()}`;
    const { promise: proved, resolve } = Promise.withResolvers<boolean>();
    const heard = (payload: string): void => {
      if (payload === proof) resolve(true);
      else onHeard(payload);
    };
    const lost = (): void => {
      this.#listening = undefined;
      this.#again = performance.now() + LISTEN_AGAIN;
    };
    this.#again = Number.POSITIVE_INFINITY;
    try {
      const listening = await server.listen(channel, heard, lost);
      await this.#sent(proof);
      const isProved = await Promise.race([proved, sleep(PROOF, false, { ref: false })]);
      // The connection was lost meanwhile.
      if (this.#again !== Number.POSITIVE_INFINITY) return;
      if (isProved && !this.#isClosed) {
        if (this.#isTold) notify("info", "notifications of the database work again");
        this.#isTold = false;
        this.#listening = listening;
        return;
      }
      await listening.close();
    } catch {
      // The next query detects whether the database is unavailable.
      lost();
      return;
    }
    this.#again = performance.now() + PROVE_AGAIN;
    this.#tellNone();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#listening?.close();
  }

  async #sent(payload: string): Promise<void> {
    const { db, channel } = this.#deps;
    await sql`select pg_notify(${channel}, ${payload})`.execute(db);
  }

  #tellNone(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    const { notify, server, instead } = this.#deps;
    notify(
      "warn",
      `no notifications arrive from the database ${server.place} (a pooler in transaction mode?): ${instead}`,
    );
  }
}
