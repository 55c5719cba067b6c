import type { ServiceImpl } from "@connectrpc/connect";
import type { SiteService as SiteServiceDesc } from "../../gen/mooring/v1/site_service_pb.js";
import type { Language, Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { changeImpl } from "./change-rpc.ts";
import { readImpl } from "./read-rpc.ts";
import type { SiteSource } from "./reply.ts";
import { syncImpl } from "./sync-rpc.ts";
import { watchImpl } from "./watch-rpc.ts";

/** Implements SiteService. */
export function siteImpl(
  source: SiteSource,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof SiteServiceDesc> {
  const sayIn = createSayIn(translations);
  return {
    ...readImpl(source, sayIn),
    ...changeImpl(source, sayIn),
    ...syncImpl(source, sayIn),
    ...watchImpl(source, translations),
  };
}
