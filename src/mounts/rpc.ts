import { create, type JsonObject, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  MountContent,
  type MountInput as MountInputMessage,
  type Mount as MountMessage,
  type MountResult,
  MountResultSchema,
  MountSchema,
  MountStatusSchema,
} from "../../gen/mooring/v1/mount_pb.js";
import {
  AdoptMountsResponseSchema,
  CompareMountsResponseSchema,
  CopyMountResponseSchema,
  DeleteMountsResponseSchema,
  ExportMountsResponseSchema,
  GetMountResponseSchema,
  ListMountsResponseSchema,
  type MountService as MountServiceDesc,
  RenameMountResponseSchema,
  ReplaceCredentialResponseSchema,
  SaveMountsResponseSchema,
  SyncMountsResponseSchema,
  TestMountsResponseSchema,
  type WatchMountsResponse,
  WatchMountsResponseSchema,
} from "../../gen/mooring/v1/mount_service_pb.js";
import { type Grant, grantOf, ROOT, whileAllowed } from "../access/grant.ts";
import { auditOriginOf, originOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { dryRunOf } from "../audit/recorder.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { effectToProto } from "../history/effect.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import type { RecordResult } from "../history/record-result.ts";
import { memoize } from "../memoize.ts";
import { denied, invalid } from "../messages/error.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf, createSayIn } from "../messages/localize.ts";
import { message, type Text, textIn } from "../messages/message.ts";
import { pageLimit } from "../messages/page.ts";
import { toNfc } from "../nfc.ts";
import { callerOf } from "../records/caller.ts";
import type { RecordEtag } from "../records/etag.ts";
import { MASK } from "../settings/value.ts";
import { isOnSite, overridesByName, siteNamesOf } from "../sites/site-choice.ts";
import { choiceFromProto, choiceToProto } from "../sites/site-choice-message.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createView } from "../state-feed.ts";
import { mapInTicks } from "../ticks.ts";
import { isSecretItem, type MountInput } from "./input.ts";
import { isAllowed, type Mount, missingFields, type Values } from "./mount.ts";
import type { MountService } from "./mount-service.ts";
import type { Status } from "./status.ts";
import { subjectOf } from "./subject.ts";
import type { WatchedMount, WatchedMounts } from "./watch.ts";

/** Data of the messages besides mounts. */
export interface MountSource {
  readonly mounts: MountService;
  driverOf(name: string): DriverInfo | undefined;
  /** Names of the sites that this process knows. */
  siteNames(): SiteNames;
  readonly pendingSites: PendingSites;
}

/** Implements MountService. */
export function mountImpl(
  source: MountSource,
  audit: Pick<Recorder, "note" | "record">,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof MountServiceDesc> {
  const sayIn = createSayIn(translations);
  const languageOf = createLanguageOf();
  const { mounts } = source;
  const viewIn = memoize((language: Language) => {
    const translate = translations(language);
    const show = memoize(({ mount, statuses, driver }: WatchedMount) =>
      mountToProto(mount, statuses, driver, {
        reveals: false,
        say: (text) => textIn(text, translate),
        names: source.siteNames(),
        etagOf: mounts.etagOf,
      }),
    );
    return memoize((grant: Grant) =>
      createView<WatchedMounts, WatchedMount, WatchMountsResponse>(
        ({ changed, removed }, state) =>
          create(WatchMountsResponseSchema, {
            mounts: changed.map(show),
            removed: removed.map(({ mount }) => mount.name),
            revision: BigInt(state.source.snapshot.revision),
          }),
        ({ mount }) => isAllowed(grant, mount),
      ),
    );
  });
  /** Names of the secrets that a reply reveals. @throws PERMISSION_DENIED without the scope. */
  const revealedNames = (context: HandlerContext, found: readonly Mount[]): string[] => {
    if (!grantOf(context).has("mounts:reveal"))
      throw denied(message("SCOPE_MISSING", { scope: "mounts:reveal" }));
    return found.flatMap((mount) => secretKeys(mount, source.driverOf, source.siteNames()));
  };
  /** Checks the scope of a request for secrets, and counts the read secrets for the audit. */
  const revealing = (
    context: HandlerContext,
    reveal: boolean,
    found: readonly Mount[],
  ): boolean => {
    if (!reveal) return false;
    const subjects = revealedNames(context, found);
    if (subjects.length > 0)
      audit.note({ origin: auditOriginOf(context), outcome: "OK", subjects });
    return true;
  };
  const showIn = (context: HandlerContext, reveals = false) => {
    const say = sayIn(context);
    return (mount: Mount): MountMessage =>
      mountToProto(mount, mounts.statuses(mount), source.driverOf(mount.driver), {
        reveals,
        say,
        names: source.siteNames(),
        etagOf: mounts.etagOf,
      });
  };
  const resultIn = (context: HandlerContext) => {
    const say = sayIn(context);
    return (result: RecordResult) => mountResultToProto(result, say);
  };
  /** Names of mounts that a request names by name or path. */
  const named = (context: HandlerContext, names: readonly string[]): string[] =>
    names.map((name) => mounts.nameOf(name, grantOf(context)));
  const nameIn = (context: HandlerContext, name: string): string =>
    mounts.nameOf(name, grantOf(context));
  const statusIn = (context: HandlerContext) => {
    const say = sayIn(context);
    return (status: Status) => statusToProto(status, say);
  };
  const pendingOf = createPendingReply(source.pendingSites, sayIn);
  /** Sites of changed mounts that do not get the change now. @param before deleted ones. */
  const pending = (
    results: readonly RecordResult[],
    context: HandlerContext,
    before: readonly Mount[] = [],
  ) => {
    const names = new Set(
      results.flatMap(({ name, outcome }) =>
        outcome === "unchanged" || outcome === "skipped" ? [] : [name],
      ),
    );
    const changed = [...mounts.saved(names), ...before.filter(({ name }) => names.has(name))];
    return pendingOf(context, (siteId) => changed.some((mount) => isOnSite(mount, siteId)));
  };
  return {
    listMounts: async ({ site, pageSize, pageToken, reveal }, context) => {
      const limit = pageLimit(pageSize, { usual: 1_000, beyond: "invalid" });
      const revision = BigInt(mounts.revision());
      const listed = await mounts.list(grantOf(context), site);
      const found = listed.filter((mount) => mount.name > pageToken);
      const page = found.slice(0, limit);
      const reveals = revealing(context, reveal, page);
      return create(ListMountsResponseSchema, {
        mounts: await mapInTicks(page, showIn(context, reveals), context.signal),
        nextPageToken: found.length > limit ? (page.at(-1)?.name ?? "") : "",
        revision,
      });
    },
    getMount: ({ name, reveal }, context) => {
      const mount = mounts.get(nameIn(context, name), grantOf(context));
      const reveals = revealing(context, reveal, [mount]);
      return create(GetMountResponseSchema, { mount: showIn(context, reveals)(mount) });
    },
    saveMounts: async (request, context) => {
      const { dryRun, reason, allowSharedCredential: allowShared } = request;
      const inputs = request.mounts
        .map(inputFromProto)
        .map((input) => ({ ...input, name: nameIn(context, input.name) }));
      const caller = callerOf(context, reason);
      const saved = await mounts.save(inputs, caller, { dryRun, allowShared });
      // Dry runs with guessed values could reveal secrets.
      if (dryRun && !caller.grant.has("mounts:reveal"))
        audit.note(
          dryRunOf(
            context,
            inputs.map(({ name }) => subjectOf(name)),
          ),
        );
      return create(SaveMountsResponseSchema, {
        revision: BigInt(saved.revision),
        results: saved.results.map(resultIn(context)),
        pendingSites: dryRun ? [] : pending(saved.results, context),
      });
    },
    replaceCredential: async ({ name, item, site, value, dryRun, reason }, context) => {
      const caller = callerOf(context, reason);
      const saved = await mounts.replace(
        { name: nameIn(context, name), item, site },
        value,
        caller,
        { dryRun },
      );
      return create(ReplaceCredentialResponseSchema, {
        revision: BigInt(saved.revision),
        results: saved.results.map(resultIn(context)),
        pendingSites: dryRun ? [] : pending(saved.results, context),
      });
    },
    copyMount: async ({ name, newName, mountPath, reason, allowSharedCredential }, context) => {
      const mount = await mounts.copy(
        nameIn(context, name),
        { name: toNfc(newName), path: mountPath },
        callerOf(context, reason),
        { allowShared: allowSharedCredential },
      );
      return create(CopyMountResponseSchema, { mount: showIn(context)(mount) });
    },
    renameMount: async ({ name, newName, reason }, context) => {
      const mount = await mounts.rename(
        nameIn(context, name),
        toNfc(newName),
        callerOf(context, reason),
      );
      return create(RenameMountResponseSchema, { mount: showIn(context)(mount) });
    },
    deleteMounts: async ({ names, reason, dryRun }, context) => {
      const asked = named(context, names);
      const before = mounts.saved(new Set(asked));
      const saved = await mounts.delete(asked, callerOf(context, reason), { dryRun });
      return create(DeleteMountsResponseSchema, {
        revision: BigInt(saved.revision),
        results: saved.results.map(resultIn(context)),
        pendingSites: dryRun ? [] : pending(saved.results, context, before),
      });
    },
    compareMounts: async ({ site }, context) => {
      const results = await whileAllowed(context, () => mounts.compare(site, context.signal));
      return create(CompareMountsResponseSchema, { results: results.map(resultIn(context)) });
    },
    syncMounts: async ({ site, names }, context) => {
      const status = await whileAllowed(context, () =>
        mounts.sync(site, named(context, names), originOf(context), context.signal),
      );
      return create(SyncMountsResponseSchema, { status: status.map(statusIn(context)) });
    },
    testMounts: async ({ names, site }, context) => {
      const say = sayIn(context);
      const tests = await whileAllowed(context, () =>
        mounts.test(named(context, names), site, callerOf(context), context.signal),
      );
      return create(TestMountsResponseSchema, {
        tests: tests.map(({ path, duration, error, remedy, entries, ...rest }) => ({
          ...rest,
          mountPath: path,
          error: say(error),
          remedy: say(remedy),
          entries: [...entries],
          durationMs: Math.round(duration),
        })),
      });
    },
    adoptMounts: async ({ site, names, dryRun, reason }, context) => {
      const saved = await whileAllowed(context, (renew) =>
        mounts.adopt(site, names, { ...callerOf(context, reason), renew }, { dryRun }),
      );
      return create(AdoptMountsResponseSchema, {
        revision: BigInt(saved.revision),
        results: saved.results.map(resultIn(context)),
        pendingSites: dryRun ? [] : pending(saved.results, context),
      });
    },
    exportMounts: async ({ names: asked, site, reveal }, context) => {
      const grant = grantOf(context);
      // Removes duplicate names.
      const names = [...new Set(named(context, asked))];
      const found =
        names.length === 0
          ? await mounts.list(grant)
          : names.map((name) => mounts.get(name, grant));
      const subjects = reveal ? revealedNames(context, found) : [];
      // An export with secrets is sent after its row is written.
      await audit.record({
        origin: auditOriginOf(context),
        subjects,
        detail: { secrets: reveal ? "clear" : "omit", mounts: found.length },
        isNeeded: reveal,
      });
      const document = await mounts.export(names, site, grant, reveal);
      return create(ExportMountsResponseSchema, { document: document as unknown as JsonObject });
    },
    watchMounts: (_request, context) => {
      const grant = grantOf(context);
      // Streams of all grants without limits show the same.
      const view = viewIn(languageOf(context, ""))(grant.limits.length === 0 ? ROOT : grant);
      return mounts.watch(view, context.signal);
    },
  };
}

function inputFromProto(input: MountInputMessage, at: number): MountInput {
  const { name, mountPath, driver, config, members, disabled, sites, overrides, content } = input;
  if (MountContent[content] === undefined)
    throw invalid([
      {
        field: `mounts[${at}].content`,
        description: message("CONTENT_INVALID", { at }),
      },
    ]);
  return {
    name,
    path: mountPath,
    driver,
    config,
    members,
    disabled,
    sites: sites && choiceFromProto(sites, `mounts[${at}].sites`),
    content:
      content === MountContent.UNSPECIFIED
        ? undefined
        : content === MountContent.OVERWRITE
          ? "overwrite"
          : "adopt",
    ...(Object.keys(overrides).length > 0 && {
      overrides: Object.fromEntries(
        Object.entries(overrides).map(([site, override]) => [
          site,
          {
            path: override.mountPath,
            config: override.config ?? {},
            members: override.members ?? {},
          },
        ]),
      ),
    }),
    expectedEtag: input.expectedEtag,
  };
}

function mountToProto(
  mount: Mount,
  statuses: readonly Status[],
  driver: DriverInfo | undefined,
  {
    reveals,
    say,
    names,
    etagOf,
  }: {
    readonly reveals: boolean;
    readonly say: (text: Text) => string;
    readonly names: SiteNames;
    readonly etagOf: RecordEtag<Mount>;
  },
): MountMessage {
  const { name, path, disabled, revision } = mount;
  const show = (items: Values): JsonObject =>
    Object.fromEntries(
      Object.entries(items).map(([item, value]): [string, JsonValue] => [
        item,
        !reveals && value !== "" && isSecretItem(driver, item) ? MASK : value,
      ]),
    );
  return create(MountSchema, {
    name,
    mountPath: path,
    driver: mount.driver,
    disabled,
    sites: choiceToProto(siteNamesOf(mount, names)),
    config: show(mount.items),
    members: { ...mount.members },
    overrides: Object.fromEntries(
      overridesByName(mount, names).map(([site, { path: own, items, members }]) => [
        site,
        { mountPath: own, config: show(items), members: { ...members } },
      ]),
    ),
    content: mount.content === "adopt" ? MountContent.ADOPT : MountContent.OVERWRITE,
    revision: BigInt(revision),
    etag: etagOf(mount),
    missing: missingFields(mount, names),
    status: statuses.map((status) => statusToProto(status, say)),
  });
}

function statusToProto(status: Status, say: (text: Text) => string) {
  const { site, state, applied, differs, agrees, cause, remedy } = status;
  return create(MountStatusSchema, {
    site,
    state,
    agrees,
    differs: [...differs],
    status: status.status,
    error: say(cause),
    remedy: say(remedy),
    appliedRevision: BigInt(applied),
    sinceTime: timeToProto(status.since),
    readTime: timeToProto(status.readAt),
    listTime: timeToProto(status.listedAt),
  } as MessageInitShape<typeof MountStatusSchema>);
}

function timeToProto(time: number) {
  return time > 0 ? timestampFromMs(time) : undefined;
}

/** Names of a mount's secrets in the audit. */
function secretKeys(
  mount: Mount,
  driverOf: (name: string) => DriverInfo | undefined,
  names: SiteNames,
): readonly string[] {
  const driver = driverOf(mount.driver);
  const keys = (items: Values, site?: string): string[] =>
    Object.entries(items).flatMap(([item, value]) =>
      value !== "" && isSecretItem(driver, item) ? [subjectOf(mount.name, item, site)] : [],
    );
  return [
    ...keys(mount.items),
    ...overridesByName(mount, names).flatMap(([site, { items }]) => keys(items, site)),
  ];
}

/** Converts the result of a change for one mount. */
function mountResultToProto(
  { name, outcome, note, differs, leftOut = [], effects = [] }: RecordResult,
  say: (text: Text) => string,
): MountResult {
  return create(MountResultSchema, {
    name,
    outcome,
    note: say(note),
    differs: [...differs],
    leftOut: [...leftOut],
    effects: effects.map(effectToProto),
  });
}
