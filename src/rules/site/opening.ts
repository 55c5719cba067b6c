import { posix } from "node:path";
import type { RuleValues } from "../rule.ts";

/** Rule as a server has it, or is to get it. */
export interface ServerRule {
  readonly values: RuleValues;
  /** Whether its password is lost. It counts as set: without it, the server does not get the rule. */
  readonly isIncomplete?: boolean;
}

/** Rules of a server: the rule of exactly one folder; undefined: none. */
export type RuleAt = (folder: string) => ServerRule | undefined;

/** All rules of a server before and after a change. */
export interface ServerRules {
  readonly before: RuleAt;
  readonly after: RuleAt;
  /** `linesOf`, once for texts that many sites have. */
  readonly lines: (hide: string) => ReadonlySet<string>;
}

/** Limits of one folder. */
interface Limits {
  readonly hasPassword: boolean;
  readonly hide: ReadonlySet<string>;
  /** Empty: all users. */
  readonly readers: readonly string[];
  /** Empty: all users. */
  readonly writers: readonly string[];
  readonly write: boolean;
  /** Whether the folder itself is hidden and refused. */
  readonly isHidden: boolean;
}

/**
 * Reports whether more people can read, see or write a folder, or folders below it, after a change of
 * its rule. A server applies the nearest rule upwards only: a new rule replaces the limits of the one
 * above it, and the limits of that one return with the removal. Folders below with a rule of their
 * own do not depend on this one.
 */
export function opensFolder(folder: string, { before, after, lines }: ServerRules): boolean {
  return [false, true].some((isBelow) =>
    isLooser(limitsAt(folder, isBelow, before, lines), limitsAt(folder, isBelow, after, lines)),
  );
}

/** Reports whether more people can read, see or write the contents of a folder at another path. */
export function opensElsewhere(
  from: string,
  to: string,
  { ruleAt, lines }: Pick<ServerRules, "lines"> & { readonly ruleAt: RuleAt },
): boolean {
  return [false, true].some((isBelow) =>
    isLooser(limitsAt(from, isBelow, ruleAt, lines), limitsAt(to, isBelow, ruleAt, lines)),
  );
}

/** @param isBelow the limits of folders below it that have no rule. */
function limitsAt(
  folder: string,
  isBelow: boolean,
  ruleAt: RuleAt,
  lines: ServerRules["lines"],
): Limits {
  const nearest = nearestRule(folder, ruleAt);
  if (nearest === undefined)
    return {
      hasPassword: false,
      hide: new Set(),
      readers: [],
      writers: [],
      write: false,
      isHidden: false,
    };
  const { path, rule } = nearest;
  const { values, isIncomplete = false } = rule;
  const isOwn = path === folder && !isBelow;
  const applies = (sub: boolean): boolean => isOwn || sub;
  return {
    hasPassword: applies(values.p_sub) && (isIncomplete || values.password !== ""),
    hide: applies(values.h_sub) ? lines(values.hide) : new Set(),
    readers: applies(values.read_users_sub) ? values.read_users : [],
    writers: applies(values.write_users_sub) ? values.write_users : [],
    write: applies(values.w_sub) && values.write,
    isHidden:
      !isBelow &&
      path !== folder &&
      (values.h_sub || path === posix.dirname(folder)) &&
      [...lines(values.hide)].some((line) => mayMatch(line, posix.basename(folder))),
  };
}

/** Rule of a folder, or of the nearest folder above it that has one. */
function nearestRule(
  folder: string,
  ruleAt: RuleAt,
): { readonly path: string; readonly rule: ServerRule } | undefined {
  for (let path = folder; ; path = posix.dirname(path)) {
    const rule = ruleAt(path);
    if (rule !== undefined) return { path, rule };
    if (path === posix.dirname(path)) return undefined;
  }
}

function isLooser(before: Limits, after: Limits): boolean {
  const admits = (allowed: readonly string[], now: readonly string[]): boolean =>
    allowed.length > 0 && (now.length === 0 || hasOthers(new Set(now), new Set(allowed)));
  return (
    (before.hasPassword && !after.hasPassword) ||
    hasOthers(before.hide, after.hide) ||
    admits(before.readers, after.readers) ||
    admits(before.writers, after.writers) ||
    (!before.write && after.write) ||
    (before.isHidden && !after.isHidden)
  );
}

/** Lines of `hide`, of which a rule may have tens of thousands. */
export function linesOf(hide: string): ReadonlySet<string> {
  return new Set(hide === "" ? [] : hide.split("\n"));
}

function hasOthers(texts: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  if (texts === others) return false;
  for (const text of texts) if (!others.has(text)) return true;
  return false;
}

/**
 * Reports whether a line of `hide` may match a name. Expressions are not run, which can take long:
 * one with more than literal text counts as matching.
 */
function mayMatch(line: string, name: string): boolean {
  const text = line.replace(/^\^|\$$/g, "").replace(/\\\./g, ".");
  const isLiteral = /^[\p{L}\p{N} _-]*$/u.test(text.replaceAll(".", "")) && !/(?<!\\)\./.test(line);
  return !isLiteral || name.includes(text);
}
