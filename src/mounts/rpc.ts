import { create, type JsonObject } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Mount as MountMessage } from "../../gen/mooring/v1/mount_pb.js";
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
  WatchMountsResponseSchema,
} from "../../gen/mooring/v1/mount_service_pb.js";
import { grantOf, whileAllowed } from "../access/grant.ts";
import { auditOriginOf, originOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { PendingSites } from "../history/pending-site.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { toNfc } from "../nfc.ts";
import { callerOf } from "../records/caller.ts";
import { createChangeReply, createRevealing, recordPage } from "../records/reply.ts";
import { createRecordStream } from "../records/stream.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { mapInTicks } from "../ticks.ts";
import { SITE_MOUNTS } from "./kind.ts";
import {
  inputFromProto,
  mountToProto,
  resultToProto,
  secretKeys,
  statusToProto,
} from "./message.ts";
import type { Mount } from "./mount.ts";
import type { MountService } from "./mount-service.ts";
import type { Status } from "./status.ts";
import type { WatchedMount, WatchedSource } from "./watch.ts";

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
  const { mounts } = source;
  const { revealing, revealedNames, noteDryRun } = createRevealing(
    SITE_MOUNTS,
    (mount: Mount) => secretKeys(mount, source.driverOf, source.siteNames()),
    audit,
  );
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
  /** Names of mounts that a request names by name or path. */
  const named = (context: HandlerContext, names: readonly string[]): string[] =>
    names.map((name) => mounts.nameOf(name, grantOf(context)));
  const nameIn = (context: HandlerContext, name: string): string =>
    mounts.nameOf(name, grantOf(context));
  const statusIn = (context: HandlerContext) => {
    const say = sayIn(context);
    return (status: Status) => statusToProto(status, say);
  };
  const { resultsOf, changeReply } = createChangeReply(SITE_MOUNTS, {
    saved: mounts.saved,
    pendingSites: source.pendingSites,
    sayIn,
    resultToProto,
  });
  return {
    listMounts: async ({ site, ...request }, context) => {
      const revision = BigInt(mounts.revision());
      const listed = await mounts.list(grantOf(context), site);
      const { items, next } = recordPage(SITE_MOUNTS, listed, request, mounts.siteCount());
      const reveals = revealing(context, request.reveal, items);
      return create(ListMountsResponseSchema, {
        mounts: await mapInTicks(items, showIn(context, reveals), context.signal),
        nextPageToken: next,
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
      const saved = await mounts.save(inputs, callerOf(context, reason), { dryRun, allowShared });
      const names = inputs.map(({ name }) => name);
      if (dryRun) noteDryRun(context, names);
      return create(SaveMountsResponseSchema, {
        ...changeReply(saved, context, { dryRun }),
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
        ...changeReply(saved, context, { dryRun }),
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
        ...changeReply(saved, context, { dryRun, before }),
      });
    },
    compareMounts: async ({ site }, context) => {
      const results = await whileAllowed(context, () => mounts.compare(site, context.signal));
      return create(CompareMountsResponseSchema, { results: resultsOf(results, context) });
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
        ...changeReply(saved, context, { dryRun }),
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
    watchMounts: createRecordStream(mounts.watch, translations, {
      show: ({ mount, statuses, driver }: WatchedMount, say) =>
        mountToProto(mount, statuses, driver, {
          reveals: false,
          say,
          names: source.siteNames(),
          etagOf: mounts.etagOf,
        }),
      event: (changed, removed: readonly WatchedMount[], { snapshot }: WatchedSource) =>
        create(WatchMountsResponseSchema, {
          mounts: changed,
          removed: removed.map(({ mount }) => mount.name),
          revision: BigInt(snapshot.revision),
        }),
      isAllowed: (grant, { mount }: WatchedMount) => SITE_MOUNTS.isAllowed(grant, mount),
    }),
  };
}
