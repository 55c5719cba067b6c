import { contentEtag } from "../content-etag.ts";
import { MASK } from "../settings/value.ts";
import type { Site } from "./site.ts";

/** Etag of the members of a site that clients set, without secrets. */
export function siteEtag(site: Site, isSecret: (key: string) => boolean): string {
  const { token: _token, upstream: _upstream, restoring: _restoring, overrides, ...shown } = site;
  return contentEtag({
    ...shown,
    overrides: Object.entries(overrides).map(([key, value]) => [
      key,
      isSecret(key) && value !== "" ? MASK : value,
    ]),
  });
}
