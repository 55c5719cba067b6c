import type { HandlerContext } from "@connectrpc/connect";
import type { Mount as MountMessage } from "../../gen/mooring/v1/mount_pb.js";
import { grantOf } from "../access/grant.ts";
import type { Recorder } from "../audit/recorder.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { PendingSites } from "../history/pending-site.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { createChangeReply, createRevealing } from "../records/reply.ts";
import { secretSubject } from "../records/subject.ts";
import { overridesByName } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { SITE_MOUNTS } from "./kind.ts";
import { mountToProto, resultToProto } from "./message.ts";
import type { Mount, Values } from "./mount.ts";
import type { MountService } from "./mount-service.ts";
import { isSecretItem } from "./secret-item.ts";

/** Data of the messages besides mounts. */
export interface MountSource {
  readonly mounts: MountService;
  driverOf(name: string): DriverInfo | undefined;
  /** Names of the sites that this process knows. */
  siteNames(): SiteNames;
  readonly pendingSites: PendingSites;
}

/** Dependencies of the methods of MountService. */
export type MountReply = ReturnType<typeof createMountReply>;

/** @param audit counts reads of secrets in the clear, and dry runs with values for masked ones. */
export function createMountReply(
  { mounts, driverOf, siteNames, pendingSites }: MountSource,
  audit: Pick<Recorder, "note">,
  translations: (language: Language) => Translate,
) {
  const sayIn = createSayIn(translations);
  return {
    sayIn,
    /** Shows mounts to a caller. */
    showIn: (context: HandlerContext, reveals = false) => {
      const say = sayIn(context);
      return (mount: Mount): MountMessage =>
        mountToProto(mount, mounts.statuses(mount), driverOf(mount.driver), {
          reveals,
          say,
          names: siteNames(),
          etagOf: mounts.etagOf,
        });
    },
    /** Name of a mount that a request names by name or path. */
    nameIn: (context: HandlerContext, name: string): string =>
      mounts.nameOf(name, grantOf(context)),
    ...createRevealing(
      SITE_MOUNTS,
      (mount: Mount) => secretSubjects(mount, driverOf, siteNames()),
      audit,
    ),
    ...createChangeReply(SITE_MOUNTS, { saved: mounts.saved, pendingSites, sayIn, resultToProto }),
  };
}

/** Names of a mount's secrets in the audit. */
function secretSubjects(
  mount: Mount,
  driverOf: (name: string) => DriverInfo | undefined,
  names: SiteNames,
): readonly string[] {
  const driver = driverOf(mount.driver);
  const subjectsOf = (items: Values, site?: string): string[] =>
    Object.entries(items).flatMap(([item, value]) =>
      value !== "" && isSecretItem(driver, item)
        ? [secretSubject(SITE_MOUNTS, mount.name, item, site)]
        : [],
    );
  return [
    ...subjectsOf(mount.items),
    ...overridesByName(mount, names).flatMap(([site, { items }]) => subjectsOf(items, site)),
  ];
}
