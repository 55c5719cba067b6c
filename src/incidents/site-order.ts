/** Order of work on sites: one at a time per site, and alone while all are loaded. */
export interface SiteOrder {
  /** Does work of one site after its earlier work. */
  ofSite(siteId: string, work: () => Promise<void>): Promise<void>;
  /** Does work on all sites after all earlier work; later work waits for it. */
  ofAll(work: () => Promise<void>): Promise<void>;
}

export function createSiteOrder(): SiteOrder {
  let loading: Promise<void> = Promise.resolve();
  const last = new Map<string, Promise<void>>();
  return {
    ofSite: (siteId, work) => {
      const mine = Promise.all([loading, last.get(siteId)]).then(work);
      const done = mine
        .catch(() => undefined)
        .then(() => {
          if (last.get(siteId) === done) last.delete(siteId);
        });
      last.set(siteId, done);
      return mine;
    },
    ofAll: (work) => {
      const mine = Promise.all(last.values()).then(work);
      loading = mine.catch(() => undefined);
      return mine;
    },
  };
}
