import { create } from "@bufbuild/protobuf";
import { type SiteChoice, SiteChoiceSchema } from "../../../gen/mooring/v1/site_choice_pb.js";

/** Choice of sites in a form: all of them, or those with these names. */
export interface ChosenSites {
  readonly all: boolean;
  readonly names: ReadonlySet<string>;
}

export const NO_SITE: ChosenSites = { all: false, names: new Set() };

/** Sites of a record. */
export function chosenOf(sites: SiteChoice | undefined): ChosenSites {
  return { all: sites?.all ?? false, names: new Set(sites?.names) };
}

/**
 * The choice as a member of a request. Without one for a new record, the service asks for the sites
 * if there are several.
 */
export function choiceOf({ all, names }: ChosenSites, isNew: boolean): { sites?: SiteChoice } {
  const none = !all && names.size === 0;
  if (isNew && none) return {};
  return { sites: create(SiteChoiceSchema, { names: [...names], all, none }) };
}

/** The choice as JSON, equal for equal choices. */
export function plainSites({ all, names }: ChosenSites) {
  return { all, names: [...names].sort() };
}

export function readSites({ all, names }: ReturnType<typeof plainSites>): ChosenSites {
  return { all, names: new Set(names) };
}
