/** Name that is shown for a site that was removed. */
export const REMOVED = "removed";

/** Name of a rule in lists of records of all kinds, such as the audit. */
export function subjectOf(path: string): string {
  return `rule:${path}`;
}

/** Name of a rule's password in the audit. @param site name of the override's site; empty: removed. */
export function passwordSubject(path: string, site?: string): string {
  const place = site === undefined ? "" : `@${site || REMOVED}`;
  return `${subjectOf(path)}${place}:password`;
}
