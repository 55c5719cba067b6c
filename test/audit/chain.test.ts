import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  auditFromRow,
  chain,
  countForgotten,
  createVerifier,
  expectedHash,
  forgottenEntry,
  isTime,
  readForgotten,
  rowAfter,
  toUnchained,
} from "../../src/audit/chain.ts";
import type { AuditPosition, AuditRow } from "../../src/audit/store.ts";
import { START } from "../../src/database/tables.ts";
import { entry } from "../store/audit-contract.ts";

/** The first rows of an audit. */
const rowsOf = (count: number, after: AuditPosition = START): AuditRow[] =>
  chain(
    after,
    Array.from({ length: count }, (_, at) => entry({ requestId: `r${at}` })),
  ).map(auditFromRow);

/** The row with its hash computed again. */
const resealed = (row: AuditRow, change: Partial<AuditRow>): AuditRow => {
  const changed = { ...row, ...change };
  return { ...changed, hash: expectedHash(changed) };
};

/** First problem that a verification finds. */
function verified(
  rows: readonly AuditRow[],
  { floor = START, checkpoint }: { floor?: AuditPosition; checkpoint?: AuditPosition } = {},
): string | undefined {
  const verifier = createVerifier(floor, checkpoint);
  for (const row of rows) {
    const problem = verifier.add(row);
    if (problem !== undefined) return problem;
  }
  return verifier.end();
}

describe("a row", () => {
  test("has the SHA-256 of its number, the hash before and all its members, in their order", () => {
    const tokenId = "id";
    const one = entry({ tokenId, subjects: ["a", "b"], detail: { revision: 7 } });
    const row = rowAfter({ seq: 4, hash: "before" }, one);
    const text = `[5,"before",${one.time},"admin","id","rest","SaveSettings","127.0.0.1","r1","OK","a\\nb","{\\"revision\\":7}"]`;
    const hash = createHash("sha256").update(text).digest("hex");
    expect(row).toMatchObject({ seq: 5, prev: "before", hash });
    const read = auditFromRow(row);
    expect(read).toMatchObject({ seq: 5, tokenId, subjects: ["a", "b"], hash, prev: "before" });
    expect(expectedHash(read)).toBe(hash);
  });

  test("may have no subjects", () => {
    const row = auditFromRow(rowAfter(START, entry({ subjects: [] })));
    expect([row.subjects, expectedHash(row)]).toEqual([[], row.hash]);
  });

  test("has only values that every database can store", () => {
    const of = (actor: string): string => toUnchained(entry({ actor })).actor;
    expect(of("a".repeat(512))).toHaveLength(512);
    expect(of("a".repeat(513))).toHaveLength(512);
    expect(of("a\0b")).toBe("ab");
    expect(of("a\ud800")).toBe("a\ufffd");
  });

  test("has as many subjects as fit", () => {
    const of = (...subjects: readonly string[]): string => toUnchained(entry({ subjects })).subject;
    expect(of()).toBe("");
    expect(of("a".repeat(5_000))).toBe("a".repeat(4_096));
    expect(of("a".repeat(5_000), "b")).toBe("a".repeat(4_096));
    expect(of("a".repeat(4_094), "b")).toBe(`${"a".repeat(4_094)}\nb`);
    expect(of("a".repeat(4_095), "b", "c")).toBe("a".repeat(4_095));
    expect(of("a", "b", "c")).toBe("a\nb\nc");
  });
});

describe("a verification", () => {
  const rows = rowsOf(3);
  const [one, two, three] = rows as [AuditRow, AuditRow, AuditRow];

  test("accepts an intact chain and returns its last row", () => {
    expect(verified(rows)).toBeUndefined();
    expect(verified([])).toBeUndefined();
    const verifier = createVerifier(START);
    expect(verifier.last).toEqual(START);
    verifier.add(one);
    expect(verifier.last).toEqual({ seq: 1, hash: one.hash });
  });

  test("names a missing or changed row, or one with a wrong predecessor", () => {
    expect(verified([one, three])).toBe("row 2 is missing: after row 1 comes row 3");
    expect(verified([one, one])).toBe("row 2 is missing: after row 1 comes row 1");
    expect(verified([one, { ...two, actor: "ann" }])).toBe(
      "row 2 was changed after it was written: its hash does not match",
    );
    expect(verified([one, resealed(two, { time: 1.5 })])).toMatch(
      /^row 2 was changed after it was written: its time is not a whole number/,
    );
    expect(verified([one, resealed(two, { actor: "ann" }), three])).toBe(
      "row 2 was changed after it was written: row 3 follows a row with another hash",
    );
    const floor = { seq: 0, hash: "another" };
    expect(verified(rows, { floor })).toMatch(
      /^row 1 does not follow the deleted rows: row 0 had another hash/,
    );
  });

  describe("of deleted rows", () => {
    const floor = { seq: 1, hash: one.hash };
    const about = (named: number, found: number, newest: number): AuditRow =>
      auditFromRow(
        rowAfter(
          { seq: 3, hash: three.hash },
          forgottenEntry(1_700_000_000_000, { named, found, floor: newest }),
        ),
      );

    test("accepts a deletion that a row records", () => {
      expect(verified([two, three, about(0, 0, 1)], { floor })).toBeUndefined();
      expect(verified([two, three, about(0, 0, 2)], { floor })).toBeUndefined();
    });

    test("names the first row after an unrecorded deletion, or one recorded with other numbers", () => {
      expect(verified([two, three], { floor })).toMatch(
        /^row 1 is missing: the audit begins with row 2, and no row records/,
      );
      expect(verified([two, three, about(1, 2, 1)], { floor })).toMatch(
        /^row 2 was removed before row 4 was written: rows up to 2 were missing,/,
      );
      expect(verified([two, three, about(0, 0, 0)], { floor })).toMatch(/^row 1 is missing/);
    });

    test.each([{ actor: "ann" }, { method: "SaveSettings" }, { subjects: ["p/1"] }])(
      "does not accept a record of a deletion with %o",
      (change) => {
        const record = forgottenEntry(1_700_000_000_000, { named: 0, found: 0, floor: 1 });
        const row = auditFromRow(rowAfter({ seq: 3, hash: three.hash }, { ...record, ...change }));
        expect(verified([two, three, row], { floor })).toMatch(/^row 1 is missing/);
      },
    );

    test("reads an unreadable record as numbers that equal no other", () => {
      const unknown = { named: Number.NaN, found: Number.NaN, floor: Number.NaN };
      expect(readForgotten("no JSON")).toEqual(unknown);
      expect(readForgotten("{}")).toEqual(unknown);
    });
  });

  describe("with a checkpoint", () => {
    const at = ({ seq, hash }: AuditRow): AuditPosition => ({ seq, hash });

    test("accepts a chain that has the checkpoint", () => {
      for (const row of rows) expect(verified(rows, { checkpoint: at(row) })).toBeUndefined();
      expect(verified(rows, { checkpoint: START })).toBeUndefined();
    });

    test("reports rows that were rewritten", () => {
      const anew = /^row 2 differs from the checkpoint: rows up to it were rewritten/;
      expect(verified(rows, { checkpoint: { seq: 2, hash: "another" } })).toMatch(anew);
      const floor = { seq: 2, hash: two.hash };
      const checkpoint = { seq: 2, hash: "another" };
      expect(verified([three], { floor, checkpoint })).toMatch(anew);
      expect(verified([], { floor, checkpoint })).toMatch(anew);
    });

    test("reports a checkpoint whose row is missing at the end or deleted", () => {
      expect(verified(rows, { checkpoint: { seq: 5, hash: "x" } })).toBe(
        "row 4 is missing: the audit ends with row 3, and the checkpoint is of row 5",
      );
      const floor = { seq: 2, hash: two.hash };
      const forgotten = forgottenEntry(1_700_000_000_000, { named: 0, found: 0, floor: 2 });
      const rest = [auditFromRow(rowAfter(floor, forgotten))];
      expect(verified(rest, { floor, checkpoint: at(one) })).toMatch(
        /^the checkpoint is of row 1, which has been deleted; rows from 3 on are consistent/,
      );
      expect(verified(rest, { floor, checkpoint: at(two) })).toBeUndefined();
    });
  });
});

test("a time is whole milliseconds from 1970 to 9999", () => {
  const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  expect([0, 1, last].map(isTime)).toEqual([true, true, true]);
  const wrong = [-1, last + 1, 1.5, Number.NaN, Number.POSITIVE_INFINITY];
  expect(wrong.map(isTime)).toEqual(wrong.map(() => false));
});

describe("the rows to delete", () => {
  const NOW = 1_000_000_000;
  const HOUR = 3_600_000;

  test.each([
    ["none of two, however old", { rows: 1, age: 9e6, newest: 2, limit: 0 }, 0],
    ["none while one is due for less than an hour", { rows: 99, age: 1 }, 0],
    ["a hundred that are due", { rows: 100, age: 1 }, 100],
    ["one that has been due for over an hour", { rows: 1, age: HOUR + 1 }, 1],
    ["none that has been due for an hour", { rows: 1, age: HOUR }, 0],
    ["none of many that are not due", { rows: 150 }, 0],
    ["a hundred at most beyond the limit", { newest: 20_001, limit: 20_000 }, 101],
    ["a hundredth of the limit beyond it", { newest: 301, limit: 300 }, 4],
    ["none at the limit", { newest: 300, limit: 300 }, 0],
  ])("are %s", (_, audit, expected) => {
    const { rows, age, newest, limit } = { rows: 200, age: 0, newest: 200, limit: 999, ...audit };
    const oldest = Array.from({ length: rows }, (_row, at) => ({ seq: at + 1, time: NOW - age }));
    const retention = { count: limit, notBefore: NOW };
    expect(countForgotten(oldest, { newest, floor: 0 }, retention)).toBe(expected);
  });
});
