import type { Target } from "./adapter.ts";
import { createSiteClient, type SiteClient } from "./client.ts";

/** Clients of sites, one for each. */
export interface Connections<T extends Target> {
  /** The client with the site's present address and token. */
  clientOf(site: T): SiteClient;
  close(): void;
}

/**
 * @param most maximum number of connections to one site.
 * @param limit default time limit of a call, in milliseconds.
 */
export function createConnections<T extends Target>(most: number, limit?: number): Connections<T> {
  const clients = new Map<string, { readonly site: T; readonly client: SiteClient }>();
  return {
    clientOf: (site) => {
      const known = clients.get(site.id);
      if (known !== undefined && isSameAccess(known.site, site)) return known.client;
      known?.client.close();
      const client = createSiteClient(site, most, limit);
      clients.set(site.id, { site, client });
      return client;
    },
    close: () => {
      for (const { client } of clients.values()) client.close();
    },
  };
}

function isSameAccess(a: Target, b: Target): boolean {
  return a.url === b.url && a.token === b.token && a.ca === b.ca && a.pin === b.pin;
}
