import { shownSecrets } from "../ledger/shown-secrets.ts";
import type { StoredChange } from "../ledger/store.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";
import { partOf, placeOf, type SecretPlace } from "./secret-place.ts";

/** Secret parts of a record that a change shows. */
export function shownParts<R extends SiteRecord>(
  { blindIn }: Pick<SiteKind<R>, "blindIn">,
  change: StoredChange,
): readonly string[] {
  return shownSecrets(change, (body) =>
    blindIn(body).map((blind) => ({ part: partOf(blind), revision: blind.revision })),
  );
}

/** Fields of secrets that a change shows. */
export function shownFields<R extends SiteRecord>(
  kind: SiteKind<R>,
  change: StoredChange,
  sites: Pick<SiteNames, "nameOf">,
): readonly string[] {
  return secretFields(kind, shownParts(kind, change).map(placeOf), sites);
}

/** Fields of the secrets of a record whose values are lost. */
export function missingFields<R extends SiteRecord>(
  kind: SiteKind<R>,
  record: R,
  sites: Pick<SiteNames, "nameOf">,
): readonly string[] {
  return secretFields(kind, kind.missingOf(record), sites);
}

/** Fields of secrets in the notation of violations. */
export function secretFields<R extends SiteRecord>(
  { secretField }: Pick<SiteKind<R>, "secretField">,
  places: readonly SecretPlace[],
  sites: Pick<SiteNames, "nameOf">,
): readonly string[] {
  return places.map((place) => secretField(place, sites));
}
