import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type SiteDifference,
  SiteDifferenceSchema,
  type SiteInput as SiteInputMessage,
  type SiteLogEntry,
  SiteLogEntrySchema,
  type Site as SiteMessage,
  SiteMode as SiteModeProto,
  type SiteResult,
  SiteResultSchema,
  SiteSchema,
  SiteStanding,
} from "../../gen/mooring/v1/site_pb.js";
import { invalid } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { MASK } from "../settings/value.ts";
import type { SiteInput } from "./input.ts";
import type { Comparison, SyncStatus } from "./settings/compare.ts";
import { countsOf, errorOf, type Site, type SiteMode, type SiteView } from "./site.ts";
import { stateOfSite } from "./site-state.ts";
import type { StoredSiteEvent } from "./store.ts";

/** @throws INVALID_ARGUMENT. */
export function inputFromProto(input: SiteInputMessage | undefined): SiteInput {
  if (input === undefined) throw invalid([{ field: "site", description: message("SITE_MISSING") }]);
  const { certificateSha256, mode, include, exclude, overrides, ...rest } = input;
  return {
    name: rest.name,
    url: rest.url,
    token: rest.token,
    ca: rest.ca,
    paused: rest.paused,
    pin: certificateSha256,
    mode: mode === undefined ? undefined : modeFromProto(mode),
    include: include?.patterns,
    exclude: exclude?.patterns,
    overrides: overrides?.values,
  };
}

function modeFromProto(mode: SiteModeProto): SiteMode {
  if (SiteModeProto[mode] === undefined)
    throw invalid([{ field: "mode", description: message("MODE_INVALID", { mode }) }]);
  return mode === SiteModeProto.FOLLOW ? "follow" : "observe";
}

/** Data of the message of a site beside the site. */
export interface SiteShow {
  /** The newest revision of the settings. */
  readonly revision: number;
  readonly say: (text: Text) => string;
  readonly etagOf: (site: Site) => string;
  /** Reports whether a value is never shown. */
  readonly isSecret: (key: string) => boolean;
}

export function siteToProto(
  view: SiteView,
  { revision, say, etagOf, isSecret }: SiteShow,
): SiteMessage {
  const { site, state } = view;
  const error = errorOf(view);
  const decided = stateOfSite(view, revision);
  const { name, url, ca, pin, mode, include, exclude, overrides, paused, upstream, created } = site;
  const time = (ms: number) => (ms > 0 ? timestampFromMs(ms) : undefined);
  const notes = (members: Readonly<Record<string, { readonly reason: Text }>>) =>
    Object.entries(members).map(([key, { reason }]) => ({ key, reason: say(reason) }));
  const shown = Object.entries(overrides).map(([key, value]) => [
    key,
    isSecret(key) && value !== "" ? MASK : value,
  ]);
  return create(SiteSchema, {
    name,
    url,
    ca,
    paused,
    upstream,
    certificateSha256: pin,
    mode: mode === "follow" ? SiteModeProto.FOLLOW : SiteModeProto.OBSERVE,
    include: [...include],
    exclude: [...exclude],
    overrides: Object.fromEntries(shown),
    createTime: timestampFromMs(created),
    etag: etagOf(site),
    status: {
      state: decided.state,
      cause: say(decided.cause),
      remedy: say(decided.remedy),
      sinceTime: time(decided.since),
      kind: state.kind,
      version: state.version,
      knownSettings: state.known.length,
      appliedRevision: BigInt(state.appliedRevision),
      drift: [...state.drift],
      refused: notes(state.refused),
      held: notes(state.held),
      missing: [...state.missing],
      flapping: Object.entries(state.corrections).flatMap(([key, { isFlapping }]) =>
        isFlapping ? [key] : [],
      ),
      error: say(error?.message ?? ""),
      reachTime: time(state.reachedAt),
      errorTime: time(error?.since ?? 0),
      retryTime: time(state.nextTry),
      mounts: { ...countsOf(view, "mount") },
      rules: { ...countsOf(view, "rule") },
    } as NonNullable<SiteMessage["status"]>,
  });
}

const STANDINGS: Readonly<Record<SyncStatus, SiteStanding>> = {
  same: SiteStanding.SAME,
  differs: SiteStanding.DIFFERS,
  missing: SiteStanding.MISSING,
  extra: SiteStanding.EXTRA,
  excluded: SiteStanding.EXCLUDED,
  pinned: SiteStanding.HELD,
  refused: SiteStanding.REFUSED,
  flapping: SiteStanding.FLAPPING,
};

export function differenceToProto(
  comparison: Comparison,
  say: (text: Text) => string,
): SiteDifference {
  const { key, sync, wanted, row, secret, overridden, note } = comparison;
  const shown = (value: string): string => (secret && value !== "" ? MASK : value);
  return create(SiteDifferenceSchema, {
    key,
    secret,
    overridden,
    note: say(note),
    standing: STANDINGS[sync],
    ...(wanted === undefined ? {} : { wanted: shown(wanted) }),
    ...(row === undefined ? {} : { found: shown(row.value) }),
  });
}

/** Result for a setting, on a site or in Mooring. */
export function resultToProto(
  {
    key,
    outcome,
    reason,
  }: { readonly key: string; readonly outcome: string; readonly reason: Text },
  say: (text: Text) => string,
): SiteResult {
  return create(SiteResultSchema, { key, outcome, reason: say(reason) });
}

export function logEntryToProto(
  { seq, time, revision, keys, result, ...rest }: StoredSiteEvent,
  say: (text: Text) => string,
): SiteLogEntry {
  return create(SiteLogEntrySchema, {
    ...rest,
    result: say(result),
    sequence: BigInt(seq),
    time: timestampFromMs(time),
    revision: BigInt(revision),
    keys: [...keys],
  });
}
