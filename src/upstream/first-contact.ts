import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../error-text.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import { message } from "../messages/message.ts";
import { createSettingClient, readPermanentToken } from "../sites/settings/client.ts";
import type { SettingJob } from "../sites/settings/sync.ts";
import type { Site } from "../sites/site.ts";
import type { SiteService } from "../sites/site-service.ts";
import type { Sites } from "../sites/sites.ts";
import { addressOf } from "../sites/stored-site.ts";
import type { SiteClient } from "../sync/client.ts";
import { SiteFailure } from "../sync/failure.ts";
import type { Sessions } from "./session.ts";
import { ADOPTION, type UpstreamSite } from "./upstream-site.ts";

/** First and longest pause between attempts, in milliseconds. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5_000;
/** Names of the new site, in the order in which they are tried. */
const NAMES = ["upstream", "upstream-2", "upstream-3"];

export interface FirstContactDeps {
  readonly sites: Sites;
  readonly service: Pick<SiteService, "create">;
  readonly upstream: UpstreamSite;
  readonly url: string;
  /** The upstream's permanent token; undefined: read with the login of the first admin. */
  readonly token: string | undefined;
  readonly ledger: Pick<Ledger, "invalidateReplies">;
  readonly client: SiteClient;
  readonly identify: Sessions["identify"];
  /** Adopts the upstream's values. @param onlyDrifted only those that changed there. */
  readonly adopt: (
    job: SettingJob,
    origin: RevisionOrigin,
    onlyDrifted: boolean,
  ) => Promise<unknown>;
  readonly now: () => number;
  /** Called at each start when its values were adopted, so that it can follow. */
  readonly onAdopted: () => void;
  /** Called with the obstacle, and when the first contact has succeeded. */
  readonly onNotice: (message: string) => void;
  readonly onError: (error: unknown) => void;
}

/** First contact with the upstream: its values are adopted before anything is written there. */
export interface FirstContact {
  /** Tries until the first success, or until an admin's login is needed. */
  start(): void;
  /** Contact in progress; afterwards the site follows. Never rejects. */
  inProgress(): Promise<unknown> | undefined;
  /** Called for a request of a possible admin: the first one is used to read the token. */
  adminRequest(authorization: string, clientId: string | undefined): void;
  /** Prevents further attempts. */
  close(): void;
}

export function createFirstContact(deps: FirstContactDeps): FirstContact {
  return new Contact(deps);
}

class Contact implements FirstContact {
  readonly #deps: FirstContactDeps;
  readonly #stopping = new AbortController();
  #inProgress: Promise<unknown> | undefined;
  /** Reading of the token with an admin's login, in progress. */
  #reading: Promise<unknown> | undefined;

  constructor(deps: FirstContactDeps) {
    this.#deps = deps;
  }

  start(): void {
    void this.#tryUntilDone().catch(this.#deps.onError);
  }

  inProgress(): Promise<unknown> | undefined {
    return this.#inProgress;
  }

  adminRequest(authorization: string, clientId: string | undefined): void {
    if (this.#reading !== undefined || authorization === "" || !this.#needsToken()) return;
    this.#reading = this.#contactAs(authorization, clientId)
      .catch((error: unknown) => {
        this.#deps.onNotice(`the upstream's settings cannot be adopted: ${errorText(error)}`);
      })
      .finally(() => {
        this.#reading = undefined;
      });
  }

  close(): void {
    this.#stopping.abort();
  }

  /** Whether there is no contact yet, or the stored token was refused. */
  #needsToken(): boolean {
    const { upstream, sites } = this.#deps;
    const site = upstream.find();
    if (site === undefined) return true;
    const { appliedRevision, error } = sites.registry.state(site.id);
    return appliedRevision === 0 || error?.kind === "unauthorized";
  }

  async #contactAs(authorization: string, clientId: string | undefined): Promise<void> {
    const { identify, client } = this.#deps;
    const visitor = await identify(authorization, clientId);
    if (visitor.kind !== "admin") return;
    const token = await readPermanentToken(createSettingClient(client), authorization, clientId);
    if (token !== "") await this.#contact(token);
  }

  async #tryUntilDone(): Promise<void> {
    const { token, upstream, onNotice } = this.#deps;
    const { signal } = this.#stopping;
    let reported = "";
    for (let tries = 0; !signal.aborted; tries += 1) {
      try {
        return await this.#contactWithStoredToken();
      } catch (error) {
        const reason = errorText(error);
        if (reason !== reported)
          onNotice(`requests for settings are still forwarded to the upstream: ${reason}`);
        reported = reason;
        // Without a token no attempt is possible before the first admin calls.
        if (token === undefined && upstream.find() === undefined) return;
      }
      const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(tries, 10), LONGEST_PAUSE);
      await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #contactWithStoredToken(): Promise<void> {
    const { token } = this.#deps;
    try {
      await this.#contact("");
    } catch (error) {
      // The stored token may be newer than the configured one, after a reset through Mooring.
      const isRefused = error instanceof SiteFailure && error.kind === "unauthorized";
      if (!isRefused || token === undefined) throw error;
      await this.#contact(token);
    }
  }

  /** @param token a new one; empty: the stored one. */
  #contact(token: string): Promise<void> {
    const work = this.#adoptAndFollow(token);
    const quiet = work
      .catch(() => undefined)
      .finally(() => {
        if (this.#inProgress === quiet) this.#inProgress = undefined;
      });
    this.#inProgress = quiet;
    return work;
  }

  /**
   * Creates the site if there is none and adopts its values: all values at first contact, later those
   * that were changed while no process followed. Afterwards the site follows.
   */
  async #adoptAndFollow(token: string): Promise<void> {
    const { sites, upstream, ledger, adopt, onAdopted, onNotice, onError } = this.#deps;
    const { id, paused } = await this.#siteWith(token);
    // An operator has paused the site.
    if (paused) return onAdopted();
    const isNew = sites.registry.state(id).appliedRevision === 0;
    await sites.settings.exclusive(id, (job) => adopt(job, ADOPTION, !isNew));
    if (isNew) await upstream.change(id, { mode: "follow" });
    // Before the first site no process takes the lease: without this, saves wait for the next tick.
    await sites.sync.tick();
    // Cached public replies contain the old version.
    ledger.invalidateReplies();
    onAdopted();
    // Pushes changes that were saved meanwhile.
    void sites.settings.reconcile(id).catch(onError);
    if (isNew) onNotice("the upstream's settings were adopted; it follows from now on");
  }

  /** The upstream's site, with this address and token. */
  async #siteWith(token: string): Promise<Site> {
    const { sites, upstream, url } = this.#deps;
    const { registry } = sites;
    await registry.load();
    const former = upstream.find();
    const same = this.#siteAtAddress();
    if (former !== undefined && former !== same)
      await upstream.change(former.id, { upstream: false });
    if (same !== undefined) {
      if (same.upstream && token === "" && same.url === url) return same;
      await upstream.change(same.id, { url, upstream: true, ...(token !== "" && { token }) });
      await registry.clearError(same.id);
      return same;
    }
    if (token === "") throw new SiteFailure("unauthorized", message("SITE_TOKEN_UNKNOWN"));
    await this.#deps.service.create(
      { name: this.#freeName(), url, token },
      { ...ADOPTION, method: "CreateSite" },
    );
    const made = this.#siteAtAddress();
    if (made === undefined) throw new SiteFailure("refused", message("SITE_GONE"));
    await upstream.change(made.id, { upstream: true });
    return made;
  }

  #siteAtAddress(): Site | undefined {
    const { sites, url } = this.#deps;
    const address = addressOf(url);
    return sites.registry.sites().find((site) => addressOf(site.url) === address);
  }

  #freeName(): string {
    const { sites, now } = this.#deps;
    const taken = new Set(sites.registry.sites().map(({ name }) => name));
    return NAMES.find((name) => !taken.has(name)) ?? `upstream-${now()}`;
  }
}
