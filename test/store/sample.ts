import type {
  RecordName,
  RevisionCommit,
  StoredChange,
  StoredRecord,
  StoredWrite,
} from "../../src/ledger/store.ts";

/** Kind of the records of these tests, if they name no other. */
export const KIND = "thing";

/** Names of records of this kind. */
export const named = (...keys: readonly string[]): RecordName[] =>
  keys.map((key) => ({ kind: KIND, key }));

/** A stored record with defaults for members that a test does not need. */
export function stored(members: Partial<StoredRecord> & { key: string }): StoredRecord {
  return {
    kind: KIND,
    body: "",
    attributes: "",
    secrets: {},
    position: 0,
    revision: 1,
    ...members,
  };
}

/** A change of one record, with such defaults. */
export function changed(members: Partial<StoredChange> & { key: string }): StoredChange {
  return {
    kind: KIND,
    oldBody: null,
    newBody: null,
    oldAttributes: null,
    newAttributes: null,
    oldHashes: null,
    newHashes: null,
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

/** A write that sets the open parts of some records as one revision. */
export function setting(
  revision: number,
  bodies: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>> = {},
): StoredWrite {
  const changes = Object.entries(bodies).map(([key, newBody]) =>
    changed({ key, oldBody: before[key] ?? null, newBody }),
  );
  return {
    revisions: [commit({ revision, changes })],
    upserts: Object.entries(bodies).map(([key, body]) => stored({ key, body, revision })),
    deletes: [],
    audit: [],
  };
}

/** A write that deletes records as one revision. */
export function deleting(revision: number, keys: readonly string[]): StoredWrite {
  const changes = keys.map((key) => changed({ key, oldBody: "" }));
  return {
    revisions: [commit({ revision, changes })],
    upserts: [],
    deletes: named(...keys),
    audit: [],
  };
}
