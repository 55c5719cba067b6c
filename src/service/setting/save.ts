import { Code } from "@connectrpc/connect";
import { invalid, ServiceError, type Violation } from "../error.ts";
import { checkCustomDefinition, customDefinition } from "./custom.ts";
import type { Draft } from "./draft.ts";
import { FLAG, type SettingItem } from "./item.ts";
import { checkToken, TOKEN_KEY } from "./token.ts";
import { checkValue } from "./value.ts";

/** A setting as a client sends it. What is undefined stays as it is. */
export interface SettingInput {
  readonly key: string;
  readonly value?: string | undefined;
  readonly help?: string | undefined;
  readonly type?: string | undefined;
  readonly options?: string | undefined;
  readonly group?: number | undefined;
  readonly flag?: number | undefined;
}

/** Items of one save at most. */
export const MAX_SAVE_ITEMS = 1_000;

/**
 * Decides a save on a draft: all or nothing.
 *
 * @throws INVALID_ARGUMENT with every violation at once.
 */
export function decideSave(draft: Draft, inputs: readonly SettingInput[]): void {
  if (inputs.length > MAX_SAVE_ITEMS)
    throw new ServiceError(
      Code.InvalidArgument,
      `a save takes at most ${MAX_SAVE_ITEMS} settings, this one has ${inputs.length}: send it in parts`,
    );
  const violations: Violation[] = [];
  const seen = new Set<string>();
  inputs.forEach((input, at) => {
    const path = `settings[${at}]`;
    if (seen.has(input.key))
      violations.push({
        field: `${path}.key`,
        description: `${named(input.key)} stands twice in this save; send each key once`,
      });
    seen.add(input.key);
    violations.push(...decideItem(draft, input, path));
  });
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
}

function decideItem(draft: Draft, input: SettingInput, path: string): Violation[] {
  const current = draft.get(input.key);
  if (input.value === undefined)
    return [
      {
        field: `${path}.value`,
        description: `${named(input.key)} has no value; send empty text to clear it`,
      },
    ];
  return current?.definition === undefined
    ? decideCustom(draft, input, input.value, current, path)
    : decideKnown(draft, current, input.value, path);
}

/** Only the value counts: a client cannot make a private setting public. */
function decideKnown(draft: Draft, current: SettingItem, value: string, path: string): Violation[] {
  // Whole lists come back as they were read, values of an earlier version's rules among them.
  if (value === current.value) return [];
  const problem = checkKnown(current, value);
  if (problem !== undefined)
    return [{ field: `${path}.value`, description: `${current.key}: ${problem}` }];
  draft.put({ ...current, value });
  return [];
}

/**
 * Sets the value of a known setting on a draft, for the program's own changes.
 *
 * @throws INVALID_ARGUMENT when the value breaks the setting's rules.
 */
export function decideValue(draft: Draft, key: string, value: string): void {
  const current = draft.get(key);
  if (current === undefined) throw new Error(`the program knows no setting "${key}"`);
  const [violation] = decideKnown(draft, current, value, key);
  if (violation !== undefined) throw invalid([violation]);
}

function checkKnown(current: SettingItem, value: string): string | undefined {
  if (current.flag === FLAG.readonly)
    return "is readonly: the program sets it; leave it out or send it back unchanged";
  if (current.key === TOKEN_KEY) return checkToken(value);
  return current.definition && checkValue(current.definition, value);
}

function decideCustom(
  draft: Draft,
  input: SettingInput,
  value: string,
  current: SettingItem | undefined,
  path: string,
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
    position: current?.position ?? draft.nextPosition(),
    revision: current?.revision ?? 0,
    definition: undefined,
  };
  const violations = checkCustomDefinition(item).map(({ field, description }) => ({
    field: `${path}.${field}`,
    description: `${named(item.key)}: ${description}`,
  }));
  if (violations.length > 0) return violations;
  if (current?.flag === FLAG.readonly && value !== current.value)
    return [
      {
        field: `${path}.value`,
        description: `${item.key}: is readonly; leave it out or send it back unchanged`,
      },
    ];
  const problem =
    value === current?.value && item.type === current.type && item.options === current.options
      ? undefined
      : checkValue(customDefinition(item), value);
  if (problem !== undefined)
    return [{ field: `${path}.value`, description: `${item.key}: ${problem}` }];
  draft.put(item);
  return [];
}

function named(key: string): string {
  return key === "" ? "a setting without a key" : key.slice(0, 255);
}
