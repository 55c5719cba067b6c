import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { createTrial, type Draft } from "../settings/draft.ts";
import { createTicks } from "../ticks.ts";
import type { MountInput, ValueInput } from "./input.ts";
import type { MountIndex } from "./mount.ts";
import { decideSave, type Result, resultAs, type SaveRules } from "./save.ts";

/** Valid inputs, and the reasons for which others are rejected. */
export interface Usable {
  readonly usable: readonly MountInput[];
  readonly unusable: readonly Result[];
  /** Names of omitted values, by mount. */
  readonly left: ReadonlyMap<string, readonly string[]>;
}

/**
 * Checks each input by itself. Invalid values, such as an empty choice, are omitted: a site keeps
 * its value of an absent item.
 *
 * @param mounts all mounts of the draft; the usable inputs are added.
 */
export async function usableInputs(
  draft: Draft,
  inputs: readonly MountInput[],
  mounts: MountIndex,
  rules: SaveRules,
): Promise<Usable> {
  const ticks = createTicks();
  const trial = createTrial(draft);
  const usable: MountInput[] = [];
  const unusable: Result[] = [];
  const left = new Map<string, readonly string[]>();
  const fits = async (input: MountInput): Promise<ServiceError | undefined> => {
    const before = mounts.get(input.name);
    try {
      await decideSave(trial, [input], mounts, rules);
      return undefined;
    } catch (error) {
      if (before === undefined) mounts.delete(input.name);
      else mounts.set(input.name, before);
      if (error instanceof ServiceError && error.code !== Code.PermissionDenied) return error;
      throw error;
    }
  };
  for (const input of inputs) {
    if (ticks.isDue()) await ticks.next();
    const first = await fits(input);
    const names = first === undefined ? [] : refusedValues(first);
    const rest = names.length === 0 ? input : without(input, names);
    const error = names.length === 0 ? first : await fits(rest);
    if (error !== undefined) {
      unusable.push(resultAs(input.path ?? input.name, "skipped", reasonOf(error)));
      continue;
    }
    if (names.length > 0) left.set(input.name, names);
    usable.push(rest);
  }
  return { usable, unusable, left };
}

/** Adds the omitted values to results. */
export function withLeft(results: readonly Result[], { left }: Usable): Result[] {
  return results.map((result) => {
    const names = left.get(result.name);
    if (names === undefined) return result;
    return { ...result, note: result.note || message("LEFT_OUT", { names: names.join(", ") }) };
  });
}

/** Adds the secrets that are missing in a document to results: these mounts are incomplete. */
export function withLost(results: readonly Result[], inputs: readonly MountInput[]): Result[] {
  const lost = new Map(inputs.map(({ name, lost: items = [] }) => [name, items]));
  return results.map((result) => {
    const items = result.outcome === "created" ? (lost.get(result.name) ?? []) : [];
    if (items.length === 0) return result;
    const names = items.map((item) => `config.${item}`).join(", ");
    return { ...result, note: message("MOUNT_SECRETS_NOT_IN_DOCUMENT", { items: names }) };
  });
}

/**
 * First violation of a mount that was checked by itself, without its index, which is not a position
 * in the document.
 */
function reasonOf({ violations: [first], text }: ServiceError): Text {
  if (first === undefined) return text;
  const { field, description } = first;
  const place = field.replace(/^mounts\[0\]\./, "");
  return typeof description === "string"
    ? description.replace(field, place)
    : description.with({ field: place });
}

/** Names of items and members with an invalid value that can be omitted. */
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
