/** Name that is shown for a site that was removed. */
export const REMOVED = "removed";

/** Name of a record where those of all kinds are listed, as in the audit and the history. */
export function subjectOf({ noun }: { readonly noun: string }, key: string): string {
  return `${noun}:${key}`;
}

/**
 * Name of a secret of a record in the audit.
 *
 * @param site name of the site whose override has it, empty for a removed site; undefined: the record.
 */
export function secretSubject(
  kind: { readonly noun: string },
  key: string,
  item: string,
  site?: string,
): string {
  const place = site === undefined ? "" : `@${site || REMOVED}`;
  return `${subjectOf(kind, key)}${place}:${item}`;
}
