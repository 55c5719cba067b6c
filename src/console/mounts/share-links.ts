import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { MountInput } from "../../../gen/mooring/v1/mount_pb.js";
import {
  CODE_ITEMS,
  readShares,
  SHARE_ITEMS,
  type Share,
  type ShareProblem,
  shareFormOf,
} from "../../client/share-text.ts";
import { isShown, type Values } from "../drivers/shown.ts";
import type { ChosenSites } from "../records/chosen-sites.ts";
import { draftOf, inputOf } from "./input.ts";

/** Limit of the name of a mount. */
const MAX_NAME = 64;

export interface LineMounts {
  readonly mounts: readonly MountInput[];
  /** Lines without a mount, counted from 1. */
  readonly refused: readonly { readonly line: number; readonly problem: ShareProblem }[];
}

/** Item of a driver that holds the ID of a share; undefined: the driver does not mount shares by ID. */
export function shareItem({ additional }: DriverInfo): ConfigItem | undefined {
  return additional.find(({ name }) => Object.hasOwn(SHARE_ITEMS, name));
}

/**
 * Required items of a driver that share links do not contain; they are entered once for all links.
 */
export function otherItems({ additional }: DriverInfo, values: Values): readonly ConfigItem[] {
  const items = new Map(additional.map((item) => [item.name, item]));
  return additional.filter(
    (item) =>
      item.required &&
      item.default === "" &&
      item.type !== "bool" &&
      !Object.hasOwn(SHARE_ITEMS, item.name) &&
      !CODE_ITEMS.has(item.name) &&
      !(item.name === "url" && items.has("sid")) &&
      isShown(item, items, values),
  );
}

/**
 * New mounts for pasted share links, named by the ID of the share, and the folder if there is one.
 *
 * @param text lines such as `https://drive.example/s/abc 1234` or `https://drive.example/s/abc?pwd=1234`.
 * @param path pattern of the paths, where `{name}` is the name of the mount.
 * @param values of the other items, the same for all mounts, as are the sites.
 */
export function mountsOf(
  text: string,
  {
    info,
    path,
    values,
    sites,
  }: { info: DriverInfo; path: string; values: Values; sites: ChosenSites },
): LineMounts {
  const names = info.additional.map(({ name }) => name);
  const form = shareFormOf(info.config?.name ?? "", names);
  if (form === undefined) return { mounts: [], refused: [] };
  const needsCode = info.additional.find(({ name }) => name === form.code)?.required ?? false;
  const { shares, refused } = readShares(text, form, { needsCode });
  const mounts = new Map<string, MountInput>();
  const repeated: { line: number; problem: ShareProblem }[] = [];
  for (const share of shares) {
    const name = nameOf(share);
    if (mounts.has(name)) {
      repeated.push({ line: share.line, problem: "repeated" });
      continue;
    }
    const own: Values = {
      ...values,
      mount_path: path.replaceAll("{name}", name),
      [form.item]: share.id,
      ...(form.code !== undefined && share.code !== "" && { [form.code]: share.code }),
      ...(form.root !== undefined && share.folder !== "" && { [form.root]: share.folder }),
      // The site of the share, of drivers for shares of any site.
      ...(form.item === "sid" && { url: share.base }),
    };
    const touched = new Set(Object.keys(own));
    mounts.set(name, inputOf({ ...draftOf(undefined), name, sites, values: own, touched }, info));
  }
  return {
    mounts: [...mounts.values()],
    refused: [...refused, ...repeated].sort((a, b) => a.line - b.line),
  };
}

/** Name of the mount of a share. A name begins with a letter or a digit. */
function nameOf({ id, folder }: Share): string {
  const whole = folder === "" ? id : `${id}-${folder.replace(/[^\w.-]+/g, "-").replace(/^-/, "")}`;
  return whole.replace(/^[^A-Za-z0-9]+/, "").slice(0, MAX_NAME);
}
