import { setTimeout as sleep } from "node:timers/promises";
import type { Kysely } from "kysely";
import type { Reading } from "../../access/query.ts";
import type { Notify } from "../../database/error.ts";
import { Contact } from "../../database/postgres/failure.ts";
import { LEASE, Lease } from "../../database/postgres/lease.ts";
import { Notifications } from "../../database/postgres/notifications.ts";
import type { PostgresServer } from "../../database/postgres/server.ts";
import { Watermark } from "../../database/postgres/watermark.ts";
import type { Database } from "../../database/schema.ts";

/** Interval of lease renewals, which also read the newest numbers, in milliseconds. */
const RENEWAL = 300;
/** Interval without notifications, in milliseconds. */
const POLL = 100;

export interface FollowDeps {
  readonly server: PostgresServer;
  readonly db: Kysely<Database>;
  readonly databaseId: string;
  /** Unique name of this process. */
  readonly instanceId: string;
  /** This machine's clock, in milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly notify: Notify;
  /** Called when there are unread commits; at once if notifications arrive. */
  readonly onNews: () => void;
}

/**
 * Watermarks of this process, updated by polling and by notifications (which are hints). Renews the
 * lease that permits this process to answer calls without a query each.
 */
export class Follower {
  readonly #deps: FollowDeps;
  readonly #lease: Lease;
  readonly #contact: Contact;
  readonly #notifications: Notifications;
  readonly #settings = new Watermark(() => this.#renewSoon());
  readonly #access = new Watermark(() => this.#renewSoon());
  readonly #stopping = new AbortController();
  #timeline: string | undefined;
  /** Whether a standby was promoted since the last full read: known revisions may differ. */
  #isReplaced = false;
  /** The same for the access tables. */
  #isAccessReplaced = false;
  #renewing: Promise<void> | undefined;
  #again = false;
  #loop: Promise<void> | undefined;

  constructor(deps: FollowDeps) {
    const { server, db, databaseId, instanceId, now, notify } = deps;
    this.#deps = deps;
    this.#lease = new Lease(db, instanceId, now);
    this.#contact = new Contact(server.place, notify, LEASE);
    this.#notifications = new Notifications({
      server,
      db,
      instanceId,
      notify,
      channel: `mooring_${databaseId}`,
      onHeard: (payload) => this.#hear(payload),
      instead: `it is polled every ${POLL} ms instead`,
    });
  }

  /** The newest revision that was read. */
  get known(): number {
    return this.#settings.known;
  }

  get timeline(): string | undefined {
    return this.#timeline;
  }

  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  get isNotified(): boolean {
    return this.#notifications.isOn;
  }

  /** Milliseconds since the last answer of an unavailable database; 0: it is available. */
  get awayFor(): number {
    return this.#contact.awayFor;
  }

  /** Time of the server's clock when this machine's clock shows `now`. */
  serverTime(now: number): number {
    return this.#lease.serverTime(now);
  }

  /** Whether there may be unread settings. */
  get isBehind(): boolean {
    return this.#settings.isBehind || this.#isReplaced || this.#lease.isOver;
  }

  /** Whether there may be unread changes of access. */
  get isAccessBehind(): boolean {
    return this.#access.isBehind || this.#isAccessReplaced || this.#lease.isOver;
  }

  /** Records a revision that was written here, or up to which changes were read. */
  saw(revision: number): void {
    this.#settings.recordRead(revision);
  }

  /** Records a full read of a revision, which may be an older one after a failover. */
  sawAll(revision: number): void {
    const isBack = revision < this.#settings.known || this.#isReplaced;
    this.#isReplaced = false;
    if (isBack) this.#settings.startAgain(revision);
    else this.#settings.sawAll(revision);
  }

  /** Begins a read of the access tables, whose version may be older after a failover. */
  readingAccess(): Reading {
    const isAnew = this.#isAccessReplaced;
    const timeline = this.#timeline;
    return {
      isAnew,
      done: (version) => {
        if (!isAnew) return this.#access.sawAll(version);
        if (this.#timeline === timeline) this.#isAccessReplaced = false;
        this.#access.startAgain(version);
      },
    };
  }

  /** Records the timeline of the server. */
  on(timeline: string): void {
    const isOther = this.#timeline !== undefined && this.#timeline !== timeline;
    this.#timeline = timeline;
    if (!isOther) return;
    this.#isReplaced = true;
    this.#isAccessReplaced = true;
    const { notify, server } = this.#deps;
    notify("warn", `a standby has replaced ${server.place}: reloading all data`);
  }

  /** Begins to follow, with a lease. @throws StoreError. */
  async start(): Promise<void> {
    await this.#renew();
    await this.#lease.removeOld();
    this.#loop = this.#run();
    await this.#notifications.begin();
  }

  /** Takes a new lease after the old one has expired, which a standby refuses. */
  async ensureLease(): Promise<void> {
    if (this.#lease.isOver) await this.#renew();
  }

  /** Announces a revision to the other instances. */
  announce(revision: number): void {
    this.#notifications.send(String(revision));
  }

  /** Announces a version of the access tables. */
  announceAccess(version: number): void {
    this.#notifications.send(`${ACCESS}${version}`);
  }

  /**
   * Resolves when no other instance uses an older revision.
   *
   * @throws StoreError when that cannot be determined.
   */
  seenEverywhere(revision: number): Promise<void> {
    return this.#lease.seenEverywhere("revision", revision, this.#deps.server.place);
  }

  /** Like seenEverywhere, for the access tables. */
  accessSeenEverywhere(version: number): Promise<void> {
    return this.#lease.seenEverywhere("access", version, this.#deps.server.place);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await this.#notifications.close();
    await this.#lease.end();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pause = this.isNotified ? RENEWAL : POLL;
      await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#renew().catch(() => undefined);
      if (this.#notifications.isDue && !this.#contact.isLost) void this.#notifications.begin();
    }
  }

  /** Renews at once: a revocation waits until every instance confirms the notified numbers. */
  #renewSoon(): void {
    if (this.#loop !== undefined) this.#renew().catch(() => undefined);
  }

  /** Serialized; changes read meanwhile are confirmed by one more renewal. */
  #renew(): Promise<void> {
    if (this.#renewing !== undefined) {
      this.#again = true;
      return this.#renewing;
    }
    this.#renewing = this.#ask()
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) this.#contact.lost(error);
        throw error;
      })
      .finally(() => {
        this.#renewing = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.#renew().catch(() => undefined);
      });
    return this.#renewing;
  }

  async #ask(): Promise<void> {
    const asked = performance.now();
    const seen = { revision: this.#settings.heard, access: this.#access.heard };
    const head = await this.#lease.renew(seen);
    this.on(head.timeline);
    this.#settings.recordNewest(head.revision, seen.revision);
    this.#access.recordNewest(head.access, seen.access);
    this.#contact.answered(asked);
    if (this.isBehind || this.isAccessBehind) this.#deps.onNews();
  }

  #hear(payload: string): void {
    const isNew = payload.startsWith(ACCESS)
      ? this.#access.recordNotified(Number(payload.slice(ACCESS.length)))
      : this.#settings.recordNotified(Number(payload));
    if (isNew) this.#deps.onNews();
  }
}

/** Prefix of notifications about the access tables. */
const ACCESS = "access ";
