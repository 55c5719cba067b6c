import type {
  RevisionCommit,
  StoredChange,
  StoredRecord,
  StoredWrite,
} from "../../src/ledger/store.ts";

/** A stored setting with defaults for members that a test does not need. */
export function stored(members: Partial<StoredRecord> & { key: string }): StoredRecord {
  return {
    value: "",
    type: "string",
    options: "",
    help: "",
    group: 0,
    flag: 1,
    origin: "custom",
    position: 0,
    revision: 1,
    ...members,
  };
}

/** A change of one key, with such defaults. */
export function changed(members: Partial<StoredChange> & { key: string }): StoredChange {
  return {
    oldBody: null,
    newBody: null,
    oldHash: null,
    newHash: null,
    oldAttributes: null,
    newAttributes: null,
    ...members,
  };
}

/** A revision, with such defaults; its time is its number in seconds. */
export function commit(members: Partial<RevisionCommit> & { revision: number }): RevisionCommit {
  return {
    time: members.revision * 1_000,
    actor: "admin",
    transport: "rest",
    method: "SaveSettings",
    requestId: `r${members.revision}`,
    peer: "127.0.0.1",
    reason: "",
    changes: [],
    ...members,
  };
}

/** A write of these rows only. */
export const writing = (rows: Partial<StoredWrite>): StoredWrite => ({
  revisions: [],
  upserts: [],
  deletes: [],
  audit: [],
  ...rows,
});

/** A write that sets some keys as one revision. */
export function setting(
  revision: number,
  values: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>> = {},
): StoredWrite {
  const changes = Object.entries(values).map(([key, newBody]) =>
    changed({ key, oldBody: before[key] ?? null, newBody }),
  );
  return {
    revisions: [commit({ revision, changes })],
    upserts: Object.entries(values).map(([key, value]) => stored({ key, value, revision })),
    deletes: [],
    audit: [],
  };
}

/** A write that deletes keys as one revision. */
export function deleting(revision: number, keys: readonly string[]): StoredWrite {
  const changes = keys.map((key) => changed({ key, oldBody: "" }));
  return { revisions: [commit({ revision, changes })], upserts: [], deletes: keys, audit: [] };
}
