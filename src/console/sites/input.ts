import { type Site, SiteSchema } from "../../../gen/mooring/v1/site_pb.js";
import type { PairList } from "../components/pair-list.ts";
import { changedMembers } from "../records/changed-members.ts";
import { type KeptMessage, readMessage, writeMessage } from "../records/kept-message.ts";
import { withoutSecrets } from "../records/secret-pairs.ts";

/** Texts of the form. */
export interface SiteTexts {
  readonly name: string;
  readonly url: string;
  /** Empty: the token stays. */
  readonly token: string;
  readonly ca: string;
  readonly certificateSha256: string;
  /** Patterns, one per line or separated by commas. */
  readonly include: string;
  readonly exclude: string;
  readonly overrides: PairList;
}

/** Inputs of the form, and the site that they started from; undefined: a new one. */
export interface SiteDraft {
  readonly base: Site | undefined;
  readonly texts: SiteTexts;
}

export function draftOf(site: Site | undefined): SiteDraft {
  return {
    base: site,
    texts: {
      name: site?.name ?? "",
      url: site?.url ?? "",
      token: "",
      ca: site?.ca ?? "",
      certificateSha256: site?.certificateSha256 ?? "",
      include: site?.include.join("\n") ?? "",
      exclude: site?.exclude.join("\n") ?? "",
      overrides: Object.entries(site?.overrides ?? {}),
    },
  };
}

function changedTexts({ base, texts }: SiteDraft): Partial<SiteTexts> {
  return changedMembers(draftOf(base).texts, texts);
}

/** Names of the texts that differ from those of the site. */
export function changesOf(draft: SiteDraft): readonly string[] {
  return Object.keys(changedTexts(draft));
}

/** The changed texts, on a newer state of the site. */
export function rebased(draft: SiteDraft, site: Site): SiteDraft {
  const now = draftOf(site);
  return { ...now, texts: { ...now.texts, ...changedTexts(draft) } };
}

/** Inputs as the browser keeps them. */
interface KeptDraft {
  readonly base: KeptMessage;
  readonly texts: SiteTexts;
}

/**
 * Inputs without secrets, and the names of those that are left out.
 *
 * @param isOpen reports whether a setting is known and not secret.
 */
export function writeDraft({ base, texts }: SiteDraft, isOpen: (key: string) => boolean) {
  const own = withoutSecrets(texts.overrides, draftOf(base).texts.overrides, isOpen);
  const value: KeptDraft = {
    base: writeMessage(SiteSchema, base),
    texts: { ...texts, token: "", overrides: own.pairs },
  };
  return { value, secrets: [...(texts.token === "" ? [] : ["token"]), ...own.lost] };
}

/** The inputs that `writeDraft` has returned. */
export function readDraft(kept: unknown): SiteDraft {
  const { base, texts } = kept as KeptDraft;
  return { texts, base: readMessage(SiteSchema, base) };
}

/** The changed texts as a request. */
export function inputOf(draft: SiteDraft) {
  const { include, exclude, overrides, ...texts } = changedTexts(draft);
  const patterns = (text: string) => ({
    patterns: text.split(/[\n,]/).flatMap((each) => each.trim() || []),
  });
  const pairs = overrides?.filter(([key, value]) => `${key}${value}`.trim() !== "");
  return {
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim()])),
    ...(include !== undefined && { include: patterns(include) }),
    ...(exclude !== undefined && { exclude: patterns(exclude) }),
    ...(pairs && { overrides: { values: Object.fromEntries(pairs) } }),
  };
}
