import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type SiteService as SiteServiceDesc,
  type WatchSitesResponse,
  WatchSitesResponseSchema,
} from "../../gen/mooring/v1/site_service_pb.js";
import { createView } from "../collection-view.ts";
import { memoize } from "../memoize.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf } from "../messages/localize.ts";
import { type Text, textIn } from "../messages/message.ts";
import { revealsTo, type SiteSource, showSite } from "./reply.ts";
import type { SiteView } from "./site.ts";
import type { WatchedSites } from "./site-service.ts";

/** The method of SiteService that streams sites. Streams of one language and right share messages. */
export function watchImpl(
  source: SiteSource,
  translations: (language: Language) => Translate,
): Pick<ServiceImpl<typeof SiteServiceDesc>, "watchSites"> {
  const languageOf = createLanguageOf();
  const viewIn = memoize((language: Language) =>
    memoize((reveals: boolean) => {
      const translate = translations(language);
      const say = (text: Text): string => textIn(text, translate);
      return createView<WatchedSites, SiteView, WatchSitesResponse>(
        ({ changed, removed }, { snapshot: { revision } }) =>
          create(WatchSitesResponseSchema, {
            sites: changed.map((view) => showSite(source, view, { reveals, revision, say })),
            removed: removed.map(({ site }) => site.name),
            revision: BigInt(revision),
          }),
      );
    }),
  );
  return {
    watchSites: (_request, context) =>
      source.sites.watch(viewIn(languageOf(context, ""))(revealsTo(context)), context.signal),
  };
}
