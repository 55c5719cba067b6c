import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { MountInput } from "../../../gen/mooring/v1/mount_pb.js";
import { isShown, type Values } from "../drivers/shown.ts";
import { inputOf } from "./input.ts";

/** Items of drivers for the ID of a share, each with the position of the ID in a share link. */
export const SHARE_ITEMS: Readonly<Record<string, RegExp>> = {
  share_id: /\/s\/([\w-]+)/,
  share_ids: /\/s\/([\w-]+)/,
  share_code: /\/s\/([\w-]+)/,
  sharekey: /\/s\/([\w-]+)/,
  surl: /(?:\/s\/1|[?&]surl=)([\w-]+)/,
  sid: /\/@s\/([\w-]+)/,
};
/** Items of drivers for the extraction code of a share. */
export const CODE_ITEMS = new Set(["share_pwd", "receive_code", "sharepassword", "pwd"]);
/** Query parameters of a share link with its extraction code. */
const CODE_PARAMETERS = ["pwd", "password"];
/** Words that users copy along with an extraction code. */
const CODE_LABEL = /^.*?(?:码|code|pwd|password)\s*[:：]\s*/i;
/** Limit of the name of a mount. */
const MAX_NAME = 64;

/** Reason for which a line is not a mount. */
export type LineProblem = "noAddress" | "noShare" | "noCode" | "repeated";

export interface LineMounts {
  readonly mounts: readonly MountInput[];
  /** Lines without a mount, counted from 1. */
  readonly refused: readonly { readonly line: number; readonly problem: LineProblem }[];
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
 * New mounts for pasted share links, one link per line, named by the ID of the share.
 *
 * @param text lines such as `https://drive.example/s/abc 1234` or `https://drive.example/s/abc?pwd=1234`.
 * @param path pattern of the paths, where `{name}` is the name of the mount.
 * @param values of the other items, the same for all mounts.
 */
export function mountsOf(
  text: string,
  { info, path, values }: { info: DriverInfo; path: string; values: Values },
): LineMounts {
  const item = shareItem(info)?.name ?? "";
  const code = info.additional.find(({ name }) => CODE_ITEMS.has(name));
  const mounts = new Map<string, MountInput>();
  const refused: { line: number; problem: LineProblem }[] = [];
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    const share = readLine(line, SHARE_ITEMS[item]);
    const refuse = (problem: LineProblem) => refused.push({ line: at + 1, problem });
    if (typeof share === "string") refuse(share);
    else if (code?.required && share.code === "") refuse("noCode");
    else if (mounts.has(share.name)) refuse("repeated");
    else {
      const own: Values = {
        ...values,
        mount_path: path.replaceAll("{name}", share.name),
        [item]: share.id,
        ...(code !== undefined && share.code !== "" && { [code.name]: share.code }),
        // The site of the share, of drivers for shares of any site.
        ...(item === "sid" && { url: share.base }),
      };
      const options = { sites: "", disabled: false, mount: undefined };
      mounts.set(share.name, inputOf(share.name, own, new Set(Object.keys(own)), info, options));
    }
  }
  return { mounts: [...mounts.values()], refused };
}

/** Share of a line. */
interface Share {
  readonly id: string;
  /** Name of its mount, made of the ID. */
  readonly name: string;
  /** Empty: none. */
  readonly code: string;
  /** Address before the path of the share. */
  readonly base: string;
}

function readLine(line: string, place: RegExp | undefined): Share | LineProblem {
  const [link = ""] = /https?:\/\/\S+/i.exec(line) ?? [];
  if (!URL.canParse(link)) return "noAddress";
  const found = place?.exec(link);
  const id = found?.[1] ?? "";
  // A name begins with a letter or a digit.
  const name = id.replace(/^[^A-Za-z0-9]+/, "").slice(0, MAX_NAME);
  if (found == null || name === "") return "noShare";
  const query = new URL(link).searchParams;
  const [after = ""] = line
    .slice(line.indexOf(link) + link.length)
    .trim()
    .replace(CODE_LABEL, "")
    .split(/\s/);
  const code = after || CODE_PARAMETERS.map((each) => query.get(each)).find(Boolean) || "";
  return { id, name, code, base: link.slice(0, found.index) };
}
