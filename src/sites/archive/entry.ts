import { readMembers, timeMember } from "../../archive/member.ts";
import type { ArchiveEntry, SecretValue } from "../../archive/part.ts";
import type { Text } from "../../messages/message.ts";
import { ownValue, setOwn } from "../../own-value.ts";
import { MASK } from "../../settings/value.ts";
import type { SiteInput } from "../input.ts";
import type { Site } from "../site.ts";

/** Names of members in archives, where they differ from those of a site. */
const NAMES: Readonly<Record<string, string>> = {
  ca: "certificate",
  pin: "certificateSha256",
};

/** Name of a member of a site in archives. */
export function memberName(member: string): string {
  return NAMES[member] ?? member;
}

/** @param isShown - whether values of secrets are written; otherwise they are only named. */
export function toEntry(
  site: Site,
  isSecret: (key: string) => boolean,
  isShown: boolean,
): ArchiveEntry {
  const { name, url, token, ca, pin, mode, include, exclude, upstream, created } = site;
  // An import that has paused it resumes it.
  const paused = site.paused && site.restoring === 0;
  const open: Record<string, string> = {};
  const secret: Record<string, SecretValue> = {};
  for (const [key, value] of Object.entries(site.overrides))
    if (isSecret(key) && value !== "") setOwn(secret, overrideSecret(key), value);
    else setOwn(open, key, value);
  const secrets = { ...(token !== "" && { token }), ...secret };
  return {
    name,
    content: {
      url,
      ...(ca !== "" && { certificate: ca }),
      ...(pin !== "" && { certificateSha256: pin }),
      mode,
      paused,
      include,
      exclude,
      overrides: open,
      ...(upstream && { upstream }),
      created: timeMember(created),
    },
    secrets: isShown ? secrets : {},
    missing: [...(isShown ? [] : Object.keys(secrets)), ...(token === "" ? ["token"] : [])],
    isSealed: false,
  };
}

const OVERRIDES = "overrides/";

export function overrideSecret(key: string): string {
  return `${OVERRIDES}${key}`;
}

/** Members of a site as an entry has them. */
export interface GivenSite {
  readonly input: SiteInput;
  /** Secrets without a value. */
  readonly missing: readonly string[];
  /** Keys whose values on the site are not known, so that Mooring's are not written there. */
  readonly excluded: readonly string[];
  readonly created: number | undefined;
}

/** @param before - the site that the entry changes; undefined: it is new. */
export function fromEntry(
  { content, secrets, missing: lost }: ArchiveEntry,
  before: Site | undefined,
  isSecret: (key: string) => boolean,
): GivenSite | { readonly problem: Text } {
  const members = readMembers(content);
  const mode = members.choice("mode", ["observe", "follow"]);
  const overrides: Record<string, string> = {};
  for (const [key, value] of Object.entries(members.textMap("overrides")))
    setOwn(overrides, key, value);
  for (const [name, value] of Object.entries(secrets))
    if (name.startsWith(OVERRIDES)) setOwn(overrides, name.slice(OVERRIDES.length), String(value));
  const excluded: string[] = [];
  const missing = lost.filter((name) => name === "token" && (before?.token ?? "") === "");
  for (const name of lost) {
    if (!name.startsWith(OVERRIDES)) continue;
    const key = name.slice(OVERRIDES.length);
    const isKept = isSecret(key) && ownValue(before?.overrides, key) !== undefined;
    if (isKept) setOwn(overrides, key, MASK);
    else {
      missing.push(name);
      excluded.push(key);
    }
  }
  const token = ownValue(secrets, "token");
  const access = {
    url: members.text("url"),
    ca: members.text("certificate"),
    pin: members.text("certificateSha256"),
    ...(token !== undefined && { token: String(token) }),
  };
  const input: SiteInput = {
    // The address and token of the upstream are configured where Mooring runs.
    ...(before?.upstream === true ? {} : access),
    mode,
    include: members.texts("include"),
    exclude: [...new Set([...members.texts("exclude"), ...excluded])],
    overrides,
    paused: members.flag("paused"),
  };
  const created = members.time("created");
  const problem = members.problem();
  return problem === undefined ? { input, missing, excluded, created } : { problem };
}
