import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type SiteDifference,
  SiteDifferenceSchema,
  type SiteInput as SiteInputMessage,
  SiteLogEntrySchema,
  type Site as SiteMessage,
  SiteMode as SiteModeProto,
  SiteResultSchema,
  SiteSchema,
  SiteStanding,
} from "../../gen/mooring/v1/site_pb.js";
import {
  AdoptSiteResponseSchema,
  CheckSiteResponseSchema,
  CompareSiteResponseSchema,
  CreateSiteResponseSchema,
  DeleteSiteResponseSchema,
  GetSiteResponseSchema,
  ListSiteLogResponseSchema,
  ListSitesResponseSchema,
  type SiteService as SiteServiceDesc,
  SyncSiteResponseSchema,
  UpdateSiteResponseSchema,
  type WatchSitesResponse,
  WatchSitesResponseSchema,
} from "../../gen/mooring/v1/site_service_pb.js";
import { type Grant, grantOf, whileAllowed } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import { memoize } from "../memoize.ts";
import { invalid } from "../messages/error.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf, createSayIn } from "../messages/localize.ts";
import { message, type Text, textIn } from "../messages/message.ts";
import { pageLimit } from "../messages/page.ts";
import { MASK } from "../settings/value.ts";
import { createView } from "../state-feed.ts";
import type { SiteInput } from "./input.ts";
import { type KindResult, recordResultToProto } from "./record-effect.ts";
import type { Comparison, SyncStatus } from "./settings/compare.ts";
import type { SiteView } from "./site.ts";
import { countsOf, errorOf, type SiteMode } from "./site.ts";
import type { SiteService, WatchedSites } from "./site-service.ts";
import { stateOfSite } from "./site-state.ts";
import { MOUNT_ACTION, RULE_ACTION, USER_ACTION } from "./store.ts";

/** State shown by the messages in addition to the sites. */
export interface SiteSource {
  readonly sites: SiteService;
  /** Reports whether a value is never shown. */
  readonly isSecret: (key: string) => boolean;
}

/** Result for a setting, on a site or in Mooring. */
interface Result {
  readonly key: string;
  readonly outcome: string;
  readonly reason: Text;
}

/** The result for a record, without its name if the caller may not read records of its kind. */
function readableResult(result: KindResult, grant: Grant): KindResult {
  const scope = `${result.kind}s:read`;
  if (grant.has(scope)) return result;
  return { ...result, name: "", note: message("SCOPE_MISSING", { scope }) };
}

/** Implements SiteService. */
export function siteImpl(
  source: SiteSource,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof SiteServiceDesc> {
  const languageOf = createLanguageOf();
  const sayIn = createSayIn(translations);
  const reveals = (context: HandlerContext): boolean => grantOf(context).has("settings:reveal");
  /** Site as shown to a caller: only callers who may read secrets see which of them differ. */
  const visible = (view: SiteView, isRevealed: boolean): SiteView =>
    isRevealed ? view : withoutSecrets(view, source.isSecret);
  const showIn = (context: HandlerContext) => {
    const say = sayIn(context);
    return (view: SiteView): SiteMessage =>
      siteToProto(visible(view, reveals(context)), source, source.sites.revision(), say);
  };
  const viewIn = memoize((language: Language) =>
    memoize((isRevealed: boolean) => {
      const translate = translations(language);
      const say = (text: Text): string => textIn(text, translate);
      return createView<WatchedSites, SiteView, WatchSitesResponse>(
        ({ changed, removed }, { snapshot: { revision } }) =>
          create(WatchSitesResponseSchema, {
            sites: changed.map((view) =>
              siteToProto(visible(view, isRevealed), source, revision, say),
            ),
            removed: removed.map(({ site }) => site.name),
            revision: BigInt(revision),
          }),
      );
    }),
  );
  const resultIn = (context: HandlerContext) => {
    const say = sayIn(context);
    return ({ key, outcome, reason }: Result) =>
      create(SiteResultSchema, { key, outcome, reason: say(reason) });
  };
  const differenceIn = (context: HandlerContext) => {
    const say = sayIn(context);
    return (comparison: Comparison) => differenceToProto(comparison, say);
  };
  return {
    listSites: (_request, context) =>
      create(ListSitesResponseSchema, {
        sites: source.sites.list().map(showIn(context)),
        revision: BigInt(source.sites.revision()),
      }),
    getSite: ({ name }, context) =>
      create(GetSiteResponseSchema, { site: showIn(context)(source.sites.get(name)) }),
    createSite: async ({ site }, context) => {
      const view = await whileAllowed(context, () =>
        source.sites.create(inputFromProto(site), originOf(context), context.signal),
      );
      return create(CreateSiteResponseSchema, { site: showIn(context)(view) });
    },
    updateSite: async ({ name, site, dryRun, expectedEtag }, context) => {
      const { view, records } = await source.sites.update(
        name,
        inputFromProto(site),
        originOf(context),
        // As in exports: only the permanent token reads secrets of sites.
        { dryRun, expectedEtag, reveals: grantOf(context).isRoot },
      );
      return create(UpdateSiteResponseSchema, {
        site: showIn(context)(view),
        records: records.map((record) => recordResultToProto(record, sayIn(context))),
      });
    },
    deleteSite: async ({ name, dryRun }, context) => {
      const records = await source.sites.delete(name, originOf(context), { dryRun });
      const readable = records.map((record) => readableResult(record, grantOf(context)));
      return create(DeleteSiteResponseSchema, {
        records: readable.map((record) => recordResultToProto(record, sayIn(context))),
      });
    },
    checkSite: async ({ name }, context) => {
      const view = await whileAllowed(context, () => source.sites.check(name, context.signal));
      return create(CheckSiteResponseSchema, { site: showIn(context)(view) });
    },
    compareSite: async ({ name, all }, context) => {
      const { comparisons } = await whileAllowed(context, () =>
        source.sites.compare(name, context.signal),
      );
      const shown = comparisons.filter(
        ({ sync, secret }) => (all || sync !== "same") && (!secret || reveals(context)),
      );
      return create(CompareSiteResponseSchema, { differences: shown.map(differenceIn(context)) });
    },
    adoptSite: async ({ name, keys, dryRun, reason }, context) => {
      const origin = originOf(context, reason);
      const options = { keys, dryRun, reveals: reveals(context), signal: context.signal };
      const taken = await whileAllowed(context, (renew) =>
        source.sites.adopt(name, { ...options, renew }, origin),
      );
      return create(AdoptSiteResponseSchema, {
        revision: BigInt(taken.revision),
        results: taken.results.map(resultIn(context)),
      });
    },
    syncSite: async ({ name, keys, dryRun, connectDownloaders }, context) => {
      const { actor } = originOf(context);
      const options = { keys, dryRun, connectDownloaders, signal: context.signal };
      const synced = await whileAllowed(context, () => source.sites.sync(name, options, actor));
      const left = synced.comparisons.filter(({ sync }) => OPEN.has(sync));
      return create(SyncSiteResponseSchema, {
        revision: BigInt(synced.revision),
        results: synced.results.map(resultIn(context)),
        differences: left.map(differenceIn(context)),
        connected: [...synced.connected],
      });
    },
    listSiteLog: async ({ name, pageSize, before }, context) => {
      const limit = pageLimit(pageSize, { beyond: "invalid" });
      if (before < 0n) throw invalid([{ field: "before", description: message("BEFORE_INVALID") }]);
      const from = before === 0n ? undefined : Number(before);
      const all = await source.sites.log(name, limit, from);
      const { has } = grantOf(context);
      const entries = all.filter(
        ({ action }) =>
          (action !== MOUNT_ACTION || has("mounts:read")) &&
          (action !== RULE_ACTION || has("rules:read")) &&
          (action !== USER_ACTION || has("users:read")),
      );
      const say = sayIn(context);
      return create(ListSiteLogResponseSchema, {
        entries: entries.map(({ seq, time, revision, keys, result, ...rest }) =>
          create(SiteLogEntrySchema, {
            ...rest,
            result: say(result),
            sequence: BigInt(seq),
            time: timestampFromMs(time),
            revision: BigInt(revision),
            keys: [...keys],
          }),
        ),
      });
    },
    watchSites: (_request, context) =>
      source.sites.watch(viewIn(languageOf(context, ""))(reveals(context)), context.signal),
  };
}

/**
 * Site without the marks of its secrets. With them, a caller who may not read secrets could save
 * guesses and see which one the site has.
 */
function withoutSecrets(view: SiteView, isSecret: (key: string) => boolean): SiteView {
  const { state } = view;
  const open = <T>(marks: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
    Object.fromEntries(Object.entries(marks).filter(([key]) => !isSecret(key)));
  return {
    ...view,
    state: {
      ...state,
      drift: state.drift.filter((key) => !isSecret(key)),
      refused: open(state.refused),
      held: open(state.held),
      rewritten: open(state.rewritten),
      fights: open(state.fights),
    },
  };
}

/** Statuses that a sync could still resolve. */
const OPEN: ReadonlySet<SyncStatus> = new Set(["differs", "pinned", "refused", "flapping"]);

function inputFromProto(input: SiteInputMessage | undefined): SiteInput {
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

function siteToProto(
  view: SiteView,
  { sites, isSecret }: SiteSource,
  revision: number,
  say: (text: Text) => string,
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
    etag: sites.etagOf(site),
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
      fought: Object.entries(state.fights).flatMap(([key, { left }]) => (left ? [key] : [])),
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
  flapping: SiteStanding.FOUGHT,
};

function differenceToProto(comparison: Comparison, say: (text: Text) => string): SiteDifference {
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
