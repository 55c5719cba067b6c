import type { ImportOptions } from "../../src/archive/import.ts";

/** Options of an import of everything. */
export const IMPORT_ALL: ImportOptions = {
  passphrase: "",
  only: [],
  dryRun: false,
  skipInvalid: false,
  replaceSecrets: false,
  includeServerOwn: false,
  allowShared: false,
  siteNames: new Map(),
  sites: undefined,
  pauseSites: false,
};
