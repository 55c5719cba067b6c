import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { createDraft, type Draft } from "../settings/draft.ts";
import type { MountInput, ValueInput } from "./input.ts";
import type { Mount } from "./mount.ts";
import { decideSave, type Result, resultAs, type SaveRules } from "./save.ts";

/** Inputs that can be saved, and the others with the reason. */
export interface Usable {
  readonly usable: readonly MountInput[];
  readonly unusable: readonly Result[];
  /** Names of the values that were left out, by mount. */
  readonly left: ReadonlyMap<string, readonly string[]>;
}

/**
 * Tries each input by itself. Values that the catalogue refuses, such as an empty choice, are left out:
 * a site keeps its own for what a mount does not have.
 */
export function usableInputs(
  draft: Draft,
  inputs: readonly MountInput[],
  mounts: Map<string, Mount>,
  rules: SaveRules,
): Usable {
  const usable: MountInput[] = [];
  const unusable: Result[] = [];
  const left = new Map<string, readonly string[]>();
  const fits = (input: MountInput): ServiceError | undefined => {
    const trial = new Map(mounts);
    try {
      // On a draft of its own, whose changes go nowhere.
      decideSave(createDraft(draft), [input], trial, rules);
      const saved = trial.get(input.name);
      if (saved !== undefined) mounts.set(input.name, saved);
      return undefined;
    } catch (error) {
      if (error instanceof ServiceError && error.code !== Code.PermissionDenied) return error;
      throw error;
    }
  };
  for (const input of inputs) {
    const first = fits(input);
    const names = first === undefined ? [] : refusedValues(first);
    const rest = names.length === 0 ? input : without(input, names);
    const error = names.length === 0 ? first : fits(rest);
    if (error !== undefined) {
      unusable.push(resultAs(input.path ?? input.name, "skipped", error.text));
      continue;
    }
    if (names.length > 0) left.set(input.name, names);
    usable.push(rest);
  }
  return { usable, unusable, left };
}

/** Adds to results which values were left out. */
export function withLeft(results: readonly Result[], { left }: Usable): Result[] {
  return results.map((result) => {
    const names = left.get(result.name);
    if (names === undefined) return result;
    return { ...result, note: result.note || message("LEFT_OUT", { names: names.join(", ") }) };
  });
}

/** Names of items and members that have a wrong value. What has a default can be left out, if empty. */
function refusedValues({ violations }: ServiceError): string[] {
  return violations.flatMap(({ field }) => {
    const [, name] = /^mounts\[0\]\.(?:config|members)\.(.+)$/s.exec(field) ?? [];
    return name === undefined ? [] : [name];
  });
}

function without(input: MountInput, names: readonly string[]): MountInput {
  const rest = (values: ValueInput = {}): ValueInput =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
  return { ...input, config: rest(input.config), members: rest(input.members) };
}
