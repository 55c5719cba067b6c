// Entries that a file declares: each is applied as it stands, or nothing is.
import { Code } from "@connectrpc/connect";
import { rejectViolations, ServiceError, type Violation } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { type ArchiveEntry, type EntryResult, type GivenEntries, unknownPart } from "./part.ts";
import { LIMITS } from "./readable.ts";

/** Collects why entries cannot be applied as they stand, with fields such as `mounts[2]`. */
export interface Refusals {
  /**
   * Runs the work of a part. Its violations, and entries that it would skip or change, are collected.
   *
   * @throws other errors, such as PERMISSION_DENIED.
   */
  collect(
    part: { readonly name: string },
    given: GivenEntries,
    work: () => Promise<readonly EntryResult[]>,
  ): Promise<readonly EntryResult[]>;
  /** @throws INVALID_ARGUMENT with all that was collected. */
  refuse(): void;
}

export function createRefusals(): Refusals {
  const violations: Violation[] = [];
  return {
    collect: async ({ name: part }, { entries = [] }, work) => {
      try {
        const results = await work();
        const places = new Map(entries.map(({ name }, at) => [name, at]));
        for (const result of results) {
          const field = `${part}[${places.get(result.name) ?? 0}]`;
          if (result.outcome === "skipped") violations.push({ field, description: result.note });
          else if (result.leftOut.length > 0)
            violations.push({
              field: `${field}.${result.leftOut[0]}`,
              description:
                result.note === ""
                  ? message("LEFT_OUT", { names: result.leftOut.join(", ") })
                  : result.note,
            });
        }
        return results;
      } catch (error) {
        const isRefusal = error instanceof ServiceError && error.code === Code.InvalidArgument;
        if (!isRefusal || error.violations.length === 0) throw error;
        violations.push(...error.violations);
        return [];
      }
    },
    refuse: () => {
      rejectViolations(violations.slice(0, LIMITS.violations));
    },
  };
}

/** @throws INVALID_ARGUMENT for a section that is no part of archives. */
export function refuseUnknown(
  unknown: readonly { readonly name: string }[],
  parts: readonly { readonly name: string }[],
): void {
  const names = parts.map(({ name }) => name);
  rejectViolations(
    unknown.map(({ name }) => ({
      field: name,
      description: unknownPart(name, names),
    })),
  );
}

/** Entries whose secrets among the members are where those of an archive are. */
export function withoutSecretMembers(
  entries: readonly ArchiveEntry[],
  names: readonly string[] = [],
): readonly ArchiveEntry[] {
  return entries.map((entry) => {
    const found = names.filter((name) => isGiven(entry.content[name]));
    if (found.length === 0) return entry;
    const { content, secrets } = entry;
    return {
      ...entry,
      content: Object.fromEntries(
        Object.entries(content).filter(([name]) => !found.includes(name)),
      ),
      secrets: {
        ...secrets,
        ...Object.fromEntries(found.map((name) => [name, String(content[name])])),
      },
    };
  });
}

function isGiven(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
