import type { Sealer } from "../secrets/sealer.ts";
import type { Site, SiteMode } from "./site.ts";
import type { StoredSite } from "./store.ts";

/** Additional authenticated data of a site's secrets: they cannot be opened elsewhere. */
const sealedFor = (id: string, part: string): string => `site ${id} ${part}`;

/** Row of a site, with its secrets sealed. */
export function siteToStored(site: Site, { seal }: Sealer): StoredSite {
  const { id, include, exclude, overrides } = site;
  return {
    ...site,
    address: addressOf(site.url),
    token: seal(sealedFor(id, "token"), site.token),
    include: JSON.stringify(include),
    exclude: JSON.stringify(exclude),
    overrides: seal(sealedFor(id, "overrides"), JSON.stringify(overrides)),
  };
}

/** The site of a row. @throws ServiceError for secrets that cannot be opened. */
export function siteFromStored(row: StoredSite, { open }: Sealer): Site {
  const { address: _address, ...rest } = row;
  return Object.freeze({
    ...rest,
    mode: row.mode as SiteMode,
    token: open(sealedFor(row.id, "token"), row.token),
    include: JSON.parse(row.include) as string[],
    exclude: JSON.parse(row.exclude) as string[],
    overrides: JSON.parse(open(sealedFor(row.id, "overrides"), row.overrides)) as Record<
      string,
      string
    >,
  });
}

/** Canonical form of an address; the names of this machine are equal. */
export function addressOf(url: string): string {
  const { protocol, hostname, port, pathname } = new URL(url);
  const host = ["localhost", "[::1]", "127.0.0.1"].includes(hostname) ? "127.0.0.1" : hostname;
  const number = port || (protocol === "https:" ? "443" : "80");
  return `${host}:${number}${pathname.replace(/\/+$/, "")}`;
}
