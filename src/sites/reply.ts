import type { HandlerContext } from "@connectrpc/connect";
import type { Site as SiteMessage } from "../../gen/mooring/v1/site_pb.js";
import { grantOf } from "../access/grant.ts";
import type { SayIn } from "../messages/localize.ts";
import type { Text } from "../messages/message.ts";
import { siteToProto } from "./message.ts";
import type { SiteView } from "./site.ts";
import type { SiteService } from "./site-service.ts";
import { withoutSecrets } from "./visible.ts";

/** State shown by the messages in addition to the sites. */
export interface SiteSource {
  readonly sites: SiteService;
  /** Reports whether a value is never shown. */
  readonly isSecret: (key: string) => boolean;
}

/** Reports whether the caller may read secrets. */
export function revealsTo(context: HandlerContext): boolean {
  return grantOf(context).has("settings:reveal");
}

/** Message of a site: only callers who may read secrets see which of them differ. */
export function showSite(
  { sites: { etagOf }, isSecret }: SiteSource,
  view: SiteView,
  {
    reveals,
    ...show
  }: {
    readonly reveals: boolean;
    /** The newest revision of the settings. */
    readonly revision: number;
    readonly say: (text: Text) => string;
  },
): SiteMessage {
  const visible = reveals ? view : withoutSecrets(view, isSecret);
  return siteToProto(visible, { ...show, etagOf, isSecret });
}

/** Shows sites to a caller. */
export function createShowIn(source: SiteSource, sayIn: SayIn) {
  return (context: HandlerContext) => {
    const show = { reveals: revealsTo(context), say: sayIn(context) };
    return (view: SiteView): SiteMessage =>
      showSite(source, view, { ...show, revision: source.sites.revision() });
  };
}
