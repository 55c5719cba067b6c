import { fitsGlob } from "../database/glob.ts";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { AuditFilter, AuditRow } from "./store.ts";

/** Maximum number of characters of a pattern. */
const MAX_PATTERN = 255;

/** Selection of rows. */
export interface AuditSelection extends Omit<AuditFilter, "subjectPart"> {
  /** Pattern that one of the subjects matches; `*` is any text. Undefined: all rows. */
  readonly subject?: string | undefined;
}

/** Filter, and the part that the store does not apply. */
export interface Selected extends AuditFilter {
  readonly fits: (row: AuditRow) => boolean;
}

/**
 * Splits a selection into the store's filter and the rest, which is applied in memory.
 *
 * @throws INVALID_ARGUMENT for a pattern that is too long.
 */
export function selectionOf({ subject, ...filter }: AuditSelection): Selected {
  if (subject === undefined || subject === "") return { ...filter, fits: () => true };
  if (subject.length > MAX_PATTERN)
    throw invalid([
      {
        field: "subject",
        description: message("SUBJECT_PATTERN_TOO_LONG", { most: MAX_PATTERN }),
      },
    ]);
  const parts = subject.split("*");
  const subjectPart = parts.reduce((longest, part) =>
    part.length > longest.length ? part : longest,
  );
  const fits = ({ subjects }: AuditRow): boolean => subjects.some((name) => fitsGlob(parts, name));
  return { ...filter, subjectPart, fits };
}

/** Applies a selection in memory, as the store does. */
export function isSelected(row: AuditRow, selected: Selected): boolean {
  const { actor, tokenId, methods, outcomes, fits } = selected;
  return (
    (actor === undefined || row.actor === actor || row.actor.startsWith(`${actor}/`)) &&
    (tokenId === undefined || row.tokenId === tokenId) &&
    (methods === undefined || methods.includes(row.method)) &&
    (outcomes === undefined || outcomes.includes(row.outcome)) &&
    fits(row)
  );
}
