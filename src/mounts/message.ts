import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  MountContent,
  type MountInput as MountInputMessage,
  type Mount as MountMessage,
  type MountResult,
  MountResultSchema,
  MountSchema,
  MountStatusSchema,
  type MountTest,
  MountTestSchema,
} from "../../gen/mooring/v1/mount_pb.js";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { effectToProto } from "../history/effect.ts";
import type { RecordResult } from "../history/record-result.ts";
import { invalid } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import type { RecordEtag } from "../records/etag.ts";
import { MASK } from "../settings/value.ts";
import { overridesByName, siteNamesOf } from "../sites/site-choice.ts";
import { choiceFromProto, choiceToProto } from "../sites/site-choice-message.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { MountInput } from "./input.ts";
import { type Mount, missingFields, type Values } from "./mount.ts";
import { isSecretItem } from "./secret-item.ts";
import type { Status } from "./status.ts";
import type { TestResult } from "./test.ts";

/**
 * Converts a mount of a request to input.
 *
 * @param at index of the mount in the request.
 * @throws INVALID_ARGUMENT for an unknown content.
 */
export function inputFromProto(input: MountInputMessage, at: number): MountInput {
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
    content: contentFromProto(content),
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

/**
 * Converts a mount to a message.
 *
 * @param driver undefined: unknown; all items count as secrets.
 * @param options.reveals whether secrets are in the clear.
 * @param options.say text in the language of the caller.
 */
export function mountToProto(
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
  /** Values with secrets masked, unless they are revealed. */
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
    content: contentToProto(mount.content),
    revision: BigInt(revision),
    etag: etagOf(mount),
    missing: missingFields(mount, names),
    status: statuses.map((status) => statusToProto(status, say)),
  });
}

export function statusToProto(status: Status, say: (text: Text) => string) {
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
  });
}

export function testToProto(
  { name, site, path, outcome, error, remedy, entries, total, duration }: TestResult,
  say: (text: Text) => string,
): MountTest {
  return create(MountTestSchema, {
    name,
    site,
    mountPath: path,
    outcome,
    total,
    error: say(error),
    remedy: say(remedy),
    entries: [...entries],
    durationMs: Math.round(duration),
  });
}

/** @returns undefined for `UNSPECIFIED`. */
function contentFromProto(content: MountContent): Mount["content"] | undefined {
  if (content === MountContent.UNSPECIFIED) return undefined;
  return content === MountContent.OVERWRITE ? "overwrite" : "adopt";
}

function contentToProto(content: Mount["content"]): MountContent {
  return content === "adopt" ? MountContent.ADOPT : MountContent.OVERWRITE;
}

/** @param time 0: none. */
function timeToProto(time: number) {
  return time > 0 ? timestampFromMs(time) : undefined;
}

/** Converts the result of a change for one mount. */
export function resultToProto(
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
