import { Code } from "@connectrpc/connect";
import { type AuditOrigin, doneEntry } from "../../audit/entry.ts";
import type { AuditEntry } from "../../audit/store.ts";
import type { RecordResult } from "../../history/record-result.ts";
import { failedPrecondition, ServiceError } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import type { KindOfSites, KindResult } from "../record-effect.ts";
import type { SiteRegistry } from "../registry.ts";
import type { Site, SiteView } from "../site.ts";
import type { SiteKeys } from "../site-keys.ts";
import { addressOf } from "../stored-site.ts";

/** Dependencies of the changes of sites. */
export interface SiteChangeDeps {
  readonly registry: SiteRegistry;
  readonly keys: SiteKeys;
  /** Kinds of records beside settings. */
  readonly kinds: readonly KindOfSites[];
  /** File that declares a site; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  readonly viewOf: (site: Site) => SiteView;
  readonly now: () => number;
}

/** Audit entry of a change of a site. */
export function noted(
  { now }: Pick<SiteChangeDeps, "now">,
  origin: AuditOrigin,
  { name }: Site,
  detail: AuditEntry["detail"],
): AuditEntry {
  return doneEntry(origin, now(), [name], detail);
}

/** Error of a site whose name or address another site has. */
export function taken({ registry }: Pick<SiteChangeDeps, "registry">, site: Site): ServiceError {
  const others = registry.sites().filter(({ id }) => id !== site.id);
  const address = addressOf(site.url);
  const same = others.find(({ url }) => addressOf(url) === address);
  const isNamed = same === undefined || others.some(({ name }) => name === site.name);
  return new ServiceError(
    Code.AlreadyExists,
    isNamed
      ? message("SITE_EXISTS", { name: site.name })
      : message("SITE_ADDRESS_TAKEN", { name: same.name, url: same.url }),
  );
}

/** Error of a site that is to follow before it was compared. */
export function tooEarly({ name }: Site): ServiceError {
  return failedPrecondition(message("SITE_CANNOT_FOLLOW", { name }));
}

export function withKind(
  { kind }: Pick<KindOfSites, "kind">,
  results: readonly RecordResult[],
): readonly KindResult[] {
  return results.map((result) => ({ ...result, kind }));
}
