import { Code } from "@connectrpc/connect";
import type { Draft } from "../ledger/draft.ts";
import { invalid, rejectViolations, ServiceError, type Violation } from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { message, type Text } from "../messages/message.ts";
import { createTicks } from "../ticks.ts";
import type { Expectation } from "./conflict.ts";
import { checkCustomDefinition, customDefinition } from "./custom.ts";
import { redirectedSecrets } from "./destination.ts";
import { FLAG, isDescribedAs, type SettingItem, type Skipped } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { checkToken, TOKEN_KEY } from "./token.ts";
import { checkValue, MASK, normalizeValue } from "./value.ts";

/** Client's input for a setting. Undefined members stay unchanged. */
export interface SettingInput extends Expectation {
  readonly help?: string | undefined;
  readonly type?: string | undefined;
  readonly options?: string | undefined;
  readonly group?: number | undefined;
  readonly flag?: number | undefined;
}

/** Rules of a save in addition to the draft. */
export interface SaveRules {
  /** Returns the file that manages a key; undefined: clients manage it. */
  readonly managedBy: (key: string) => string | undefined;
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  /** Reports whether the caller may not read the value of a setting. Default: none. */
  readonly hides?: ((item: SettingItem) => boolean) | undefined;
}

/**
 * Reports whether a value is sent for a setting whose value the caller may not read. Such a value
 * always counts as a change: otherwise a caller could find a secret by guesses. Exceptions: the
 * mask, which leaves the value unchanged, and an empty stored secret.
 */
export function isHidden(
  current: SettingItem | undefined,
  value: string | undefined,
  hides: SaveRules["hides"] = () => false,
): boolean {
  if (current === undefined || value === undefined || value === MASK) return false;
  return hides(current) && (value !== "" || current.value !== "");
}

/** Maximum number of items of a save. */
export const MAX_SAVE_ITEMS = 1_000;

/**
 * Applies a save to a draft: all settings or none. Readonly settings stay unchanged, because
 * complete lists of other servers contain them.
 *
 * @returns the readonly settings that were sent with another value.
 * @throws INVALID_ARGUMENT with every violation at once; FAILED_PRECONDITION for a managed
 *   setting.
 */
export function decideSave(
  draft: Draft,
  inputs: readonly SettingInput[],
  rules: SaveRules,
): Promise<readonly Skipped[]> {
  checkCount(inputs.length);
  return decideItems(draft, inputs, rules);
}

/** Like decideSave, for lists of any length that the program has checked. */
export async function decideItems(
  draft: Draft,
  inputs: readonly SettingInput[],
  rules: SaveRules,
): Promise<readonly Skipped[]> {
  const ticks = createTicks();
  const { managedBy, hides } = rules;
  const violations: Violation[] = [];
  const skipped: Skipped[] = [];
  const seen = new Set<string>();
  const given = new Set(inputs.filter(isGiven).map(({ key }) => key));
  for (const [at, input] of inputs.entries()) {
    if (ticks.isDue()) await ticks.next();
    const path = `settings[${at}]`;
    if (seen.has(input.key))
      violations.push({
        field: `${path}.key`,
        description: message("KEY_REPEATED", { key: named(input.key) }),
      });
    seen.add(input.key);
    const before = draft.get(SETTINGS, input.key);
    const hidden = isHidden(before, input.value, hides);
    if (isReadonlyChange(before, input, hidden)) {
      skipped.push({ key: input.key, reason: message("SET_BY_PROGRAM") });
      continue;
    }
    violations.push(...decideItem(draft, input, path, rules));
    const isChange = draft.get(SETTINGS, input.key)?.value !== before?.value;
    if (hidden || isChange) checkManaged(named(input.key), managedBy(input.key));
    const redirected = isChange ? redirectedSecrets(draft, input.key, { hides, given }) : [];
    if (redirected.length > 0)
      violations.push({
        field: `${path}.value`,
        description: redirection(input.key, redirected),
      });
  }
  rejectViolations(violations);
  return skipped;
}

/** Problem of a change that would send secrets elsewhere. */
export function redirection(key: string, secrets: readonly string[]): Text {
  return message("SETTING_REDIRECTS", { key, secrets: secrets.join(", ") });
}

function isGiven({ value }: SettingInput): boolean {
  return value !== undefined && value !== MASK;
}

function isReadonlyChange(
  current: SettingItem | undefined,
  { value }: SettingInput,
  hidden: boolean,
): boolean {
  if (current?.flag !== FLAG.readonly || value === undefined) return false;
  return hidden || (value !== current.value && !(current.secret && value === MASK));
}

/** Returns the first problem of an input; undefined: none. @param trial is not changed. */
export function problemOf(
  trial: Draft,
  input: SettingInput,
  rules: Pick<SaveRules, "maxValueBytes" | "hides">,
): Text | undefined {
  return decideItem(trial, input, "", rules)[0]?.description;
}

function checkCount(count: number): void {
  if (count > MAX_SAVE_ITEMS)
    throw new ServiceError(
      Code.InvalidArgument,
      message("SAVE_TOO_LARGE", { most: MAX_SAVE_ITEMS, count }),
    );
}

function decideItem(
  draft: Draft,
  input: SettingInput,
  path: string,
  { maxValueBytes: maxBytes, hides }: Pick<SaveRules, "maxValueBytes" | "hides">,
): Violation[] {
  const current = draft.get(SETTINGS, input.key);
  if (input.value === undefined)
    return [
      {
        field: `${path}.value`,
        description: message("VALUE_MISSING", { name: named(input.key) }),
      },
    ];
  // A masked value that is sent back is unchanged.
  if (current?.secret === true && input.value === MASK) return [];
  const { value } = input;
  const hidden = isHidden(current, value, hides);
  return current?.origin === "known"
    ? decideKnown(draft, current, value, { path, maxBytes, hidden })
    : decideCustom(draft, { input, value, current, path, maxBytes, hidden });
}

/** Only the value counts: a client cannot make a private setting public. */
function decideKnown(
  draft: Draft,
  current: SettingItem,
  sent: string,
  { path, maxBytes, hidden }: KnownInput,
): Violation[] {
  const value = current.definition === undefined ? sent : normalizeValue(current.definition, sent);
  // Clients send complete lists back unchanged, including values that only an earlier version
  // accepted.
  if (!hidden && (sent === current.value || value === current.value)) return [];
  const problem = checkKnown(current, value, maxBytes);
  if (problem !== undefined)
    return [
      {
        field: `${path}.value`,
        description: message("NAMED_PROBLEM", { name: current.key, problem }),
      },
    ];
  draft.put(SETTINGS, { ...current, value }, hidden);
  return [];
}

interface KnownInput {
  readonly path: string;
  readonly maxBytes?: number;
  /** Result of `isHidden`. */
  readonly hidden: boolean;
}

/**
 * Sets the value of a known setting on a draft, for changes other than saves of clients.
 *
 * @param hides as in SaveRules.
 * @throws INVALID_ARGUMENT when the value breaks the setting's rules.
 */
export function decideValue(
  draft: Draft,
  key: string,
  value: string,
  hides?: SaveRules["hides"],
): void {
  const current = draft.get(SETTINGS, key);
  if (current === undefined) throw new Error(`there is no setting "${key}"`);
  const hidden = isHidden(current, value, hides);
  const [violation] = decideKnown(draft, current, value, { path: key, hidden });
  if (violation !== undefined) throw invalid([violation]);
}

function checkKnown(current: SettingItem, value: string, maxBytes?: number): Text | undefined {
  if (current.flag === FLAG.readonly) return message("READONLY_SET");
  if (current.key === TOKEN_KEY) return checkToken(value);
  return checkValue(current.definition ?? customDefinition(current), value, maxBytes);
}

interface CustomInput {
  readonly input: SettingInput;
  readonly value: string;
  readonly current: SettingItem | undefined;
  readonly path: string;
  readonly maxBytes: number;
  readonly hidden: boolean;
}

function decideCustom(
  draft: Draft,
  { input, value, current, path, maxBytes, hidden }: CustomInput,
): Violation[] {
  const item: SettingItem = {
    key: input.key,
    value,
    help: input.help ?? current?.help ?? "",
    type: input.type || current?.type || "string",
    options: input.options ?? current?.options ?? "",
    group: input.group ?? current?.group ?? 0,
    flag: input.flag ?? current?.flag ?? FLAG.private,
    secret: current?.secret ?? false,
    position: current?.position ?? draft.nextPosition(SETTINGS),
    revision: current?.revision ?? 0,
    origin: "custom",
    definition: undefined,
  };
  const isKept = current !== undefined && isDescribedAs(item, current);
  const problems = isKept
    ? []
    : checkCustomDefinition(item, {
        isNew: current === undefined,
        reserved: draft.prefixes(),
        isKnown: (key) => draft.get(SETTINGS, key)?.origin === "known",
      });
  if (problems.length > 0)
    return problems.map(({ field, description }) => ({
      field: `${path}.${field}`,
      description: message("NAMED_PROBLEM", { name: named(item.key), problem: description }),
    }));
  if (current?.flag === FLAG.readonly && value !== current.value)
    return [
      {
        field: `${path}.value`,
        description: message("READONLY_SENT", { name: item.key }),
      },
    ];
  const problem =
    value === current?.value && item.type === current.type && item.options === current.options
      ? undefined
      : checkValue(customDefinition(item), value, maxBytes);
  if (problem !== undefined)
    return [
      {
        field: `${path}.value`,
        description: message("NAMED_PROBLEM", { name: item.key, problem }),
      },
    ];
  draft.put(SETTINGS, item, hidden);
  return [];
}

function named(key: string): Text {
  return key === "" ? message("KEYLESS") : key.slice(0, 255);
}
