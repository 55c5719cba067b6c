/** A critical rule: its source files, and the tests that must fail when they change. */
export interface Rule {
  /** Globs of source files. */
  readonly files: readonly string[];
  /** Globs of test files. */
  readonly tests: readonly string[];
}

const setting = "test/settings/**/*.test.ts";
const ledger = "test/ledger/**/*.test.ts";
const store = "test/store/sqlite/setting-store.test.ts";

export const rules: Readonly<Record<string, Rule>> = {
  access: {
    files: ["src/access/*.ts", "src/messages/page.ts", "src/settings/rights.ts"],
    tests: [
      "test/access/*.test.ts",
      "test/settings/rights.test.ts",
      "test/messages/page.test.ts",
      "test/incidents/*.test.ts",
      "test/wire/{access-page,incident,throttle}.test.ts",
    ],
  },
  admission: {
    files: ["src/access/{authenticate,grant,held-calls,interceptor}.ts", "src/database/replica.ts"],
    tests: [
      "test/access/*.test.ts",
      "test/settings/rights.test.ts",
      "test/database/{replica,shared-run}.test.ts",
      "test/app/identity.test.ts",
    ],
  },
  save: {
    files: ["src/settings/{save,value}.ts", "src/ledger/draft.ts"],
    tests: [setting, ledger],
  },
  commit: { files: ["src/ledger/{commit,writer,ledger}.ts"], tests: [setting, ledger, store] },
  conflict: {
    files: ["src/ledger/{conflict,etag,record-etag}.ts", "src/settings/conflict.ts"],
    tests: [setting, ledger],
  },
  rollback: {
    files: ["src/history/{restore,selection}.ts", "src/{settings,mounts}/restore.ts"],
    tests: [setting, "test/wire/restore.test.ts", "test/mounts/**/*.test.ts"],
  },
  history: { files: ["src/ledger/{history,compaction}.ts"], tests: [setting, ledger, store] },
  sealing: {
    files: ["src/secrets/*.ts"],
    tests: [
      "test/secrets/*.test.ts",
      "test/ledger/ledger-secret.test.ts",
      "test/store/sqlite/erase.test.ts",
    ],
  },
  site: {
    files: [
      "src/sites/settings/{round,push,compare,adopt}.ts",
      "src/sync/*.ts",
      "src/database/{job-slot,lease}.ts",
    ],
    tests: [
      "test/sites/**/*.test.ts",
      "test/sync/*.test.ts",
      "test/database/lease.test.ts",
      "test/wire/site-*.test.ts",
    ],
  },
  audit: {
    files: ["src/audit/{chain,checkpoint,recorder,subject-part,tally}.ts"],
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
