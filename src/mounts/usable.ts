import { Code } from "@connectrpc/connect";
import { invalid, ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import type { Draft } from "../settings/draft.ts";
import { createTicks } from "../ticks.ts";
import type { MountInput, ValueInput } from "./input.ts";
import type { MountIndex } from "./mount.ts";
import { decideSave, type Result, resultAs, type SaveRules } from "./save.ts";

/**
 * Saves each input by itself on a draft. Invalid values, such as an empty choice, are omitted: a site
 * keeps its value of an absent item. An input that is still rejected is skipped, with the reason.
 *
 * @param mounts all mounts of the draft, by name; updated.
 * @returns the results of the saved inputs, followed by those of the skipped ones.
 * @throws PERMISSION_DENIED.
 */
export async function saveUsable(
  draft: Draft,
  inputs: readonly MountInput[],
  mounts: MountIndex,
  rules: SaveRules,
): Promise<Result[]> {
  const ticks = createTicks();
  const saved: Result[] = [];
  const skipped: Result[] = [];
  const names = new Set<string>();
  const save = async (input: MountInput): Promise<Result | ServiceError> => {
    const before = mounts.get(input.name);
    try {
      const [result] = await decideSave(draft, [input], mounts, rules);
      return result as Result;
    } catch (error) {
      if (before === undefined) mounts.delete(input.name);
      else mounts.set(input.name, before);
      if (error instanceof ServiceError && error.code !== Code.PermissionDenied) return error;
      throw error;
    }
  };
  for (const input of inputs) {
    if (ticks.isDue()) await ticks.next();
    const first = names.has(input.name) ? repeated(input) : await save(input);
    const left = first instanceof ServiceError ? refusedValues(first) : [];
    const result = left.length === 0 ? first : await save(without(input, left));
    if (result instanceof ServiceError) {
      skipped.push(resultAs(input.path ?? input.name, "skipped", reasonOf(result)));
      continue;
    }
    names.add(input.name);
    saved.push(withLost(withLeft(result, left), input));
  }
  return [...saved, ...skipped];
}

/** Adds the omitted values to a result. */
function withLeft(result: Result, left: readonly string[]): Result {
  if (left.length === 0) return result;
  return { ...result, note: result.note || message("LEFT_OUT", { names: left.join(", ") }) };
}

/** Adds the secrets that are missing in a document to a result: the mount is incomplete. */
function withLost(result: Result, { lost = [] }: MountInput): Result {
  if (result.outcome !== "created" || lost.length === 0) return result;
  const items = lost.map((item) => `config.${item}`).join(", ");
  return { ...result, note: message("MOUNT_SECRETS_NOT_IN_DOCUMENT", { items }) };
}

function repeated({ name }: MountInput): ServiceError {
  const field = "mounts[0].name";
  return invalid([{ field, description: message("MOUNT_REPEATED", { field, name }) }]);
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
