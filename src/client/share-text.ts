// Share links as people paste them: links with extraction codes and folders among other text.

/** How a driver mounts shares: its items, and the form of the provider's links. */
export interface ShareForm {
  /** Item for the ID of a share. */
  readonly item: string;
  /** Item for the extraction code; undefined: none. */
  readonly code: string | undefined;
  /** Item for the folder that becomes the root; undefined: none. */
  readonly root: string | undefined;
  /** Hosts of the provider; undefined: any. */
  readonly hosts: RegExp | undefined;
}

/** Part of a line that is not a share, or not certainly. */
export type ShareProblem =
  | "noAddress"
  | "otherProvider"
  | "noShare"
  | "unknownPart"
  | "unclearCode"
  | "noCode"
  | "repeated";

/** Share of a link. */
export interface Share {
  /** Line of the link, from 1. */
  readonly line: number;
  readonly id: string;
  /** Extraction code; empty: none. */
  readonly code: string;
  /** Path or ID of a folder in the share; empty: the whole share. */
  readonly folder: string;
  /** Address before the path of the share. */
  readonly base: string;
}

export interface ReadShares {
  readonly shares: readonly Share[];
  readonly refused: readonly { readonly line: number; readonly problem: ShareProblem }[];
}

/** The ID of a share and what follows, in most links. */
const SHARE = /\/s\/([\w-]+)([^?#]*)/;
/** Items of drivers for the ID of a share, each with the positions of the ID and of what follows. */
export const SHARE_ITEMS: Readonly<Record<string, RegExp>> = {
  share_id: /\/s\/(?:#\/)?([\w.-]+)([^?#]*)/,
  share_ids: SHARE,
  share_code: SHARE,
  sharekey: SHARE,
  surl: /(?:\/s\/1|[?&]surl=)([\w-]+)([^?&#]*)/,
  sid: /\/@s\/([\w-]+)([^?#]*)/,
};
/** Items of drivers for the extraction code of a share. */
export const CODE_ITEMS: ReadonlySet<string> = new Set([
  "share_pwd",
  "receive_code",
  "sharepassword",
  "pwd",
]);
const ROOT_ITEMS = ["root_folder_id", "root_folder_path"];

/** Hosts of the providers, by driver. Drivers that are not listed take any host. */
const HOSTS: Readonly<Record<string, RegExp>> = {
  "115 Share": /(?:^|\.)(?:115|115cdn|anxia)\.com$/,
  "123PanShare": /(?:^|\.)123(?:pan|\d{3})\.(?:com|cn)$/,
  AliyundriveShare: /(?:^|\.)(?:alipan|aliyundrive)\.(?:com|net)$/,
  BaiduShare: /(?:^|\.)(?:pan|yun)\.baidu\.com$/,
  DoubaoShare: /(?:^|\.)doubao\.com$/,
  LenovoNasShare: /(?:^|\.)lenovo\.com\.cn$/,
  PikPakShare: /(?:^|\.)(?:mypikpak\.(?:com|net)|pikpak\.me)$/,
};

/** How a driver with these items mounts shares; undefined: not by links. */
export function shareFormOf(driver: string, items: readonly string[]): ShareForm | undefined {
  const item = items.find((name) => Object.hasOwn(SHARE_ITEMS, name));
  if (item === undefined) return undefined;
  return {
    item,
    code: items.find((name) => CODE_ITEMS.has(name)),
    root: ROOT_ITEMS.find((name) => items.includes(name)),
    hosts: HOSTS[driver],
  };
}

/**
 * Reads the shares of a text, in the order of their links; several links may be on one line. A line
 * without a link gives the code of the link before, if it is labelled. What cannot be read for
 * certain is refused.
 *
 * The code is the one in the link (`?pwd=`), else the one with a label (`提取码：`, `code:`), else the
 * only other word if it looks like a code.
 *
 * @param options.needsCode whether the driver requires a code.
 */
export function readShares(
  text: string,
  form: ShareForm,
  { needsCode = false }: { readonly needsCode?: boolean } = {},
): ReadShares {
  const found: (Share | { readonly line: number; readonly problem: ShareProblem })[] = [];
  for (const [at, given] of text.split(/\r?\n/).entries()) {
    const line = at + 1;
    const clean = cleaned(given, form);
    if (clean.trim() === "") continue;
    const parts = partsOf(clean);
    if (parts.length > 0) {
      found.push(...parts.map((part) => ({ line, ...readPart(part, form) })));
      continue;
    }
    const last = found.at(-1);
    const code = form.code && labelledCode(clean);
    if (code && last !== undefined && "id" in last && last.code === "")
      found.splice(-1, 1, { ...last, code });
    else found.push({ line, problem: "noAddress" });
  }
  const shares: Share[] = [];
  const refused: { line: number; problem: ShareProblem }[] = [];
  const seen = new Map<string, number>();
  for (const each of found) {
    if ("problem" in each) {
      refused.push(each);
      continue;
    }
    const key = JSON.stringify([each.base, each.id, each.folder]);
    const earlier = seen.get(key);
    // A link may be twice in a line, as its text and its target.
    if (earlier === each.line) continue;
    seen.set(key, each.line);
    if (earlier !== undefined) refused.push({ line: each.line, problem: "repeated" });
    else if (needsCode && each.code === "") refused.push({ line: each.line, problem: "noCode" });
    else shares.push(each);
  }
  return { shares, refused };
}

/** Link with the text that belongs to it. */
interface Part {
  readonly link: string;
  readonly before: string;
  readonly after: string;
}

/** Characters of a link: a link ends at white space, CJK characters and their punctuation. */
const LINK = /https?:\/\/[\w.~:/?#[\]@!$&'()*+,;=%-]+/gi;

/** Repairs what copying does to links. */
function cleaned(line: string, { hosts }: ShareForm): string {
  const text = line
    .replace(/[\u200b-\u200f\u2060\ufeff]/g, "")
    .replace(/[\u00a0\u3000]/g, " ")
    .replaceAll("&amp;", "&")
    .replace(/(https?)\s*[:：]\s*[/／]{2}\s*/gi, "$1://")
    .replace(/\s*[?？]\s*(?=(?:pwd|password)=)/gi, "?")
    // Link text and target of Markdown.
    .replaceAll("](", "] (");
  if (hosts === undefined || /https?:\/\//i.test(text)) return text;
  // Links without a scheme, of known hosts.
  return text.replace(/(^|[^\w.@/-])((?:[\w-]+\.)+[a-z]{2,}\/[^\s]*)/gi, (all, start, link) =>
    hosts.test(String(link).split("/")[0]?.toLowerCase() ?? "") ? `${start}https://${link}` : all,
  );
}

function partsOf(line: string): Part[] {
  const found = [...line.matchAll(LINK)].map(({ 0: link, index }) => ({
    link: link.replace(/[.,;:!?'"*()[\]{}<>]+$/, ""),
    start: index,
  }));
  const texts = found.map(({ link, start }, at) =>
    line.slice(start + link.length, found[at + 1]?.start ?? line.length),
  );
  const lead = line.slice(0, found[0]?.start ?? 0);
  // The codes are before their links if only the first link has one before and the last none after.
  const isAfter = found.length < 2 || !labelledCode(lead) || labelledCode(texts.at(-1) ?? "");
  const around = isAfter ? [lead] : [lead, ...texts];
  return found.map(({ link }, at) => ({
    link,
    before: around[at] ?? "",
    after: (isAfter && texts[at]) || "",
  }));
}

function readPart(
  part: Part,
  { item, code: codeItem, root, hosts }: ShareForm,
): Omit<Share, "line"> | { readonly problem: ShareProblem } {
  const { link } = part;
  if (!URL.canParse(link)) return { problem: "noAddress" };
  const url = new URL(link);
  if (hosts?.test(url.hostname) === false) return { problem: "otherProvider" };
  const found = SHARE_ITEMS[item]?.exec(link);
  const id = (found?.[1] ?? "").replace(/\.html?$|\.+$/, "");
  if (found == null || !/[A-Za-z0-9]/.test(id)) return { problem: "noShare" };
  const folder = folderOf(found[2] ?? "", url.hash, root);
  // A path whose names are not encoded ends there.
  const isCut = link.endsWith("/") && /^\p{L}/u.test(part.after);
  if (folder === undefined || isCut) return { problem: "unknownPart" };
  const isTitled = url.hash !== "" && !found[0].includes("#");
  const isFree = hosts === undefined;
  const code = codeItem === undefined ? "" : codeOf(url, part, { isTitled, isFree });
  if (code === undefined) return { problem: "unclearCode" };
  return { id, code, folder, base: link.slice(0, found.index) };
}

/**
 * Folder in a share: `/folder/ID` and `/ID` of providers with folder IDs, a path of others. Undefined:
 * the link is about a part of the share that is not known.
 */
function folderOf(rest: string, hash: string, root: string | undefined): string | undefined {
  // Web pages keep the current folder in the fragment: the whole share would be another folder.
  const shown = /(?:^#|[&/])(?:list\/)?path=([^&]+)/.exec(hash)?.[1];
  if (shown !== undefined && !["/", ""].includes(decoded(shown))) return undefined;
  const segments = rest
    .split("/")
    .filter((segment) => segment !== "" && !/^\.html?$/i.test(segment))
    .map(decoded);
  if (segments[0] === "folder") segments.shift();
  if (segments.length === 0) return "";
  if (root === "root_folder_path") return `/${segments.join("/")}`;
  const last = segments.at(-1) ?? "";
  const isId = segments.every((segment) => /^[\w-]{10,}$/.test(segment)) || segments.length === 1;
  return root === "root_folder_id" && isId && /^[\w-]+$/.test(last) ? last : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Query parameters of a link with its code. */
const CODE_PARAMETERS = ["pwd", "password"];

/**
 * Code of a link; empty: none. Undefined: it is not clear.
 *
 * @param options.isTitled whether a title follows the link, after `#`.
 * @param options.isFree whether codes of the provider have any form.
 */
function codeOf(
  url: URL,
  { before, after }: Part,
  { isTitled, isFree }: { readonly isTitled: boolean; readonly isFree: boolean },
): string | undefined {
  const own = CODE_PARAMETERS.map((name) => url.searchParams.get(name)?.trim()).find(Boolean);
  if (own !== undefined) return own;
  const labelled = [labelledCode(after), labelledCode(before)];
  if (labelled.includes(null)) return undefined;
  const [first, second = first] = labelled.filter((code) => code !== undefined);
  if (first != null) return second === first ? first : undefined;
  const words = isTitled ? [] : wordsOf(after);
  const [word = "", ...others] = words;
  if (words.length === 1) return singleWord(word, isFree);
  if (others.length > 0) return isMixed(word) ? undefined : "";
  const [lead = "", ...leads] = wordsOf(before);
  if (leads.length > 0 || !looksLikeCode(lead)) return "";
  return isMixed(lead) ? normal(lead) : undefined;
}

/** A word after a link: a code, or text without Latin letters and digits; others are unclear. */
function singleWord(word: string, isFree: boolean): string | undefined {
  if (looksLikeCode(word) || (isFree && /^[!-~]+$/.test(word))) return normal(word);
  return /^[\p{Script=Latin}\p{N}]{1,16}$/u.test(normal(word)) ? undefined : "";
}

/** Reports whether a word is a code rather than a word or a year: letters and digits. */
function isMixed(word: string): boolean {
  return looksLikeCode(word) && /\d/.test(normal(word)) && /[a-z]/i.test(normal(word));
}

/** Words of a text, without brackets and punctuation. */
function wordsOf(text: string): string[] {
  return text.split(/[\s,;:!?.|"'`<>*()[\]{}\-–—_=~\p{P}]+/u).filter((word) => word !== "");
}

/** Codes of the providers have four letters and digits. */
function looksLikeCode(word: string): boolean {
  return /^[A-Za-z0-9]{4}$/.test(normal(word));
}

/** Full-width letters and digits as ASCII. Long texts, which are no codes, stay as they are. */
function normal(text: string): string {
  return text.length > 256 ? text : text.normalize("NFKC");
}

/**
 * Labels of a code, with a separator (group `separated`) or directly before it. A password of an
 * archive (`解压密码`) is no code of a share, and neither is a word such as `源码`.
 */
const LABEL = new RegExp(
  [
    `(?<label>(?<!解压|解壓|压缩包|壓縮包)(?:提取|访问|訪問|分享|接收|查看|验证|驗證)?(?:密码|密碼|口令)`,
    String.raw`(?:提取|访问|訪問|分享|接收|查看|验证|驗證)[码碼]|(?<!\p{Script=Han})[码碼]`,
    String.raw`\b(?:extraction code|access code|pwd|password|passcode|pass|code))(?:\d{1,2}(?=\s*[:：=＝]))?\s*`,
  ].join("|") +
    String.raw`(?<separated>(?:[:：=＝]|是|为|為)[\s:：]*)?[（(\[【「『"'“‘]*\s*` +
    String.raw`(?<value>[!-~\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]*)`,
  "giu",
);
/** Labels that are about a share even without a code. */
const CERTAIN = /^(?:提取|访问|訪問|分享|接收|extraction|access)/i;
/** Words that deny a code: `提取码：无`, `无密码`. */
const NONE = /^[\s:：]*(?:无|無|没有|沒有|不需要|免|空|none\b|n\/a)/i;
const DENIED = /(?:无|無|没有|沒有|不需要|免|no)\s*$/i;

/** Characters around a label that can deny a code. */
const NEAR = 16;

/**
 * Code with a label in a text; undefined: there is no label, or it says that there is no code. Null:
 * there is a label with something else.
 */
function labelledCode(text: string): string | null | undefined {
  let unclear = false;
  const end = text.trimEnd().length;
  for (const { 0: all, index, groups = {} } of text.matchAll(LABEL)) {
    const { label = "", separated, value = "" } = groups;
    const after = index + all.length;
    // Pieces of limited length keep the work linear.
    const lead = text.slice(Math.max(0, index - NEAR), index);
    const follow = text.slice(after - value.length, after + NEAR);
    if (DENIED.test(lead) || NONE.test(follow)) continue;
    const code = normal(value)
      .replace(/[,;)\]}"'<>]+.*$/, "")
      .replace(/[.!?:*`#|]+$/, "");
    const isCode = separated === undefined ? looksLikeCode(code) : code !== "";
    if (isCode && !/^https?:/i.test(code)) return code;
    // A label at the end of a text belongs to what follows, such as another link.
    const isOpen = separated !== undefined || CERTAIN.test(label);
    unclear ||= isOpen && (value !== "" || after < end);
  }
  return unclear ? null : undefined;
}
