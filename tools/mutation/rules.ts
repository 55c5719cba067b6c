/** A critical rule: its source files, and the tests that must fail when they change. */
export interface Rule {
  /** Globs of source files. */
  readonly files: readonly string[];
  /** Globs of test files. */
  readonly tests: readonly string[];
}

const setting = "test/settings/**/*.test.ts";
const store = "test/store/sqlite/setting-store.test.ts";

export const rules: Readonly<Record<string, Rule>> = {
  access: {
    files: ["src/access/*.ts", "src/messages/page.ts", "src/settings/rights.ts"],
    tests: [
      "test/access/*.test.ts",
      "test/messages/page.test.ts",
      "test/incidents/*.test.ts",
      "test/wire/{access-page,incident,throttle}.test.ts",
    ],
  },
  admission: {
    files: ["src/access/{authenticate,grant}.ts", "src/database/replica.ts"],
    tests: [
      "test/access/*.test.ts",
      "test/database/{replica,shared-run}.test.ts",
      "test/app/identity.test.ts",
    ],
  },
  save: {
    files: ["src/settings/{save,draft,value}.ts"],
    tests: [setting],
  },
  commit: { files: ["src/settings/{commit,writer,engine}.ts"], tests: [setting, store] },
  conflict: { files: ["src/ledger/conflict.ts", "src/settings/conflict.ts"], tests: [setting] },
  rollback: { files: ["src/settings/rollback.ts"], tests: [setting] },
  history: { files: ["src/settings/{history,compaction}.ts"], tests: [setting, store] },
  sealing: {
    files: ["src/secrets/*.ts"],
    tests: [
      "test/secrets/*.test.ts",
      "test/ledger/ledger-secret.test.ts",
      "test/store/sqlite/erase.test.ts",
    ],
  },
  site: {
    files: ["src/sites/{round,push,compare,adopt}.ts", "src/database/job.ts"],
    tests: ["test/sites/*.test.ts", "test/database/job.test.ts", "test/wire/site-*.test.ts"],
  },
  audit: {
    files: ["src/audit/{chain,checkpoint,recorder}.ts"],
    tests: [
      "test/audit/*.test.ts",
      "test/store/sqlite/site-store.test.ts",
      "test/wire/{audit*,secret-guess}.test.ts",
    ],
  },
  binding: {
    files: ["src/gateway/rest/{binding,field,path,query,value}.ts"],
    tests: ["test/gateway/*.test.ts"],
  },
};
