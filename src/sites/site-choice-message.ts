import { create } from "@bufbuild/protobuf";
import { type SiteChoice, SiteChoiceSchema } from "../../gen/mooring/v1/site_choice_pb.js";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { ChosenSites } from "./site-choice-input.ts";

/** @throws INVALID_ARGUMENT unless exactly one of names, all and none is chosen. */
export function choiceFromProto({ names, all, none }: SiteChoice, field: string): ChosenSites {
  if ([names.length > 0, all, none].filter(Boolean).length !== 1)
    throw invalid([{ field, description: message("SITES_INVALID", { field }) }]);
  return all ? "all" : names;
}

export function choiceToProto(sites: ChosenSites): SiteChoice {
  if (sites === "all") return create(SiteChoiceSchema, { all: true });
  return create(SiteChoiceSchema, sites.length === 0 ? { none: true } : { names: [...sites] });
}
