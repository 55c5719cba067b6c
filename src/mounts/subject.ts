/** Name that is shown for a site that was removed. */
export const REMOVED = "removed";

/** Name of a mount, or of an item of one, in the audit. @param site name of the item's site. */
export function subjectOf(name: string, item?: string, site?: string): string {
  const place = site === undefined ? "" : `@${site}`;
  return `mount:${name}${place}${item === undefined ? "" : `:${item}`}`;
}
