/**
 * Bounds of what an import reads. They are far above what a site has (a full one has 250 settings in
 * 100 kB) and keep one bad file from costing much.
 */
export const LIMITS = {
  /** Bytes of a backup file, and of the settings in a database. */
  bytes: 8 * 1024 * 1024,
  /** Arrays and objects in one another. */
  depth: 32,
  /** Settings in one file or database. */
  settings: 20_000,
  /** Wrong members that one error lists. */
  violations: 100,
} as const;
