import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import type { Draft } from "../settings/draft.ts";
import type { MountInput } from "./input.ts";
import type { Mount } from "./mount.ts";
import { decideSave, type Result, resultAs, type SaveRules } from "./save.ts";

/** Inputs that can be saved, and the others with the reason. Each is tried by itself. */
export function usableInputs(
  draft: Draft,
  inputs: readonly MountInput[],
  mountsOf: (draft: Draft) => Map<string, Mount>,
  rules: SaveRules,
): { readonly usable: readonly MountInput[]; readonly unusable: readonly Result[] } {
  const usable: MountInput[] = [];
  const unusable: Result[] = [];
  const mounts = mountsOf(draft);
  for (const input of inputs) {
    const trial = new Map(mounts);
    try {
      decideSave(scratchOf(draft), [input], trial, rules);
      const saved = trial.get(input.name);
      if (saved !== undefined) mounts.set(input.name, saved);
      usable.push(input);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === Code.PermissionDenied) throw error;
      unusable.push(resultAs(input.path ?? input.name, "skipped", error.message));
    }
  }
  return { usable, unusable };
}

/** A draft whose changes go nowhere. */
function scratchOf(draft: Draft): Draft {
  return {
    ...draft,
    get revision() {
      return draft.revision;
    },
    get lastPosition() {
      return draft.lastPosition;
    },
    putMount: () => undefined,
    deleteMount: () => undefined,
    changes: () => [],
  };
}
