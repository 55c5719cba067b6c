// Archives with parts that are made up here: the archive knows no kind by name.
import { randomBytes } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createGrant, ROOT } from "../../src/access/grant.ts";
import { type Archive, createArchive } from "../../src/archive/archive.ts";
import type { ExportOptions } from "../../src/archive/export.ts";
import {
  type ArchiveEntry,
  type ArchivePart,
  type EntryResult,
  entryResult,
  type LedgerPart,
  type StorePart,
} from "../../src/archive/part.ts";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import { failedPrecondition, ServiceError, unavailable } from "../../src/messages/error.ts";
import { failureOf } from "../thrown.ts";
import { IMPORT_ALL } from "./import-options.ts";
import { CHEAP, entry } from "./text.ts";

type Boats = Map<string, ArchiveEntry>;

/** State of the ledger that a change replaces as a whole. */
type Ledger = Readonly<Record<string, Boats>>;

interface Harbour {
  readonly archive: Archive;
  readonly ledger: () => Ledger;
  readonly piers: Boats;
  /** Calls of writes, in their order. */
  readonly log: string[];
  revision: number;
}

const origin = {
  actor: "admin",
  transport: "test",
  method: "ImportArchive",
  requestId: "",
  peer: "",
  reason: "",
};
const root = { grant: ROOT, origin };

const exports: ExportOptions = {
  secrets: { mode: "omit" },
  only: [],
  names: [],
  includeServerOwn: false,
};

const cipher = createPassphraseCipher(randomBytes, CHEAP);

/** Imports entries into a map by their names. */
function put(boats: Boats, entries: readonly ArchiveEntry[]) {
  return entries.map((each) => {
    const before = boats.get(each.name);
    boats.set(each.name, each);
    return entryResult(each.name, before === undefined ? "created" : "unchanged");
  });
}

/** A store of piers and a ledger with boats and buoys. @param fails error of a part, by its name. */
function openHarbour(
  fails: (part: string, dryRun: boolean) => Error | undefined = () => undefined,
) {
  let ledger: Ledger = { boats: new Map(), buoys: new Map() };
  const piers: Boats = new Map();
  const log: string[] = [];
  const check = (name: string, dryRun: boolean): void => {
    const error = fails(name, dryRun);
    if (error !== undefined) throw error;
    log.push(dryRun ? `plan ${name}` : name);
  };
  const ledgerPart = (
    name: string,
    more: Partial<LedgerPart<Ledger>> = {},
  ): LedgerPart<Ledger> => ({
    kind: "ledger",
    name,
    most: 3,
    export: async () => ({ entries: [...(ledger[name]?.values() ?? [])] }),
    decide: async (draft, { entries = [] }, { dryRun }) => {
      check(name, dryRun);
      return put(draft[name] ?? new Map(), entries);
    },
    ...more,
  });
  const storePart = (name: string, stored: Boats): StorePart => ({
    kind: "store",
    name,
    exportScope: "sites:read",
    importScopes: ["sites:manage"],
    most: 3,
    export: async ({ names }) => ({
      entries: [...stored.values()].filter(
        (each) => names.length === 0 || names.includes(each.name),
      ),
      leftOut: ["the old pier"],
    }),
    write: async ({ entries = [] }, { dryRun, onStored }) => {
      check(name, dryRun);
      const results: EntryResult[] = [];
      for (const each of entries) {
        await undefined;
        const error = fails(`pier ${each.name}`, dryRun);
        if (error !== undefined) throw error;
        results.push(...put(dryRun ? new Map(stored) : stored, [each]));
        onStored?.(each.name);
      }
      return results;
    },
  });
  const parts: readonly ArchivePart<Ledger>[] = [
    {
      ...storePart("piers", piers),
      complete: async () => check("complete piers", false),
    },
    ledgerPart("boats", { revealScope: "settings:reveal" }),
    ledgerPart("buoys", { importScopes: ["mounts:write"], refusesLimits: true }),
    ledgerPart("keys", {
      decide: async (_draft, { entries = [] }, { dryRun }) => {
        check("keys", dryRun);
        return entries.map(({ name }) => entryResult(name, "changed", { endsCaller: true }));
      },
    }),
    storePart("captains", new Map()),
  ];
  const harbour: Harbour = {
    ledger: () => ledger,
    piers,
    log,
    revision: 0,
    archive: createArchive<Ledger>({
      parts,
      change: async (_caller, decide, { dryRun }) => {
        const draft = Object.fromEntries(
          Object.entries(ledger).map(([name, boats]) => [name, new Map(boats)]),
        );
        const result = await decide(draft);
        if (!dryRun) {
          ledger = draft;
          harbour.revision += 1;
        }
        return { result, revision: harbour.revision };
      },
      revision: () => harbour.revision,
      cipher,
      databaseId: () => "db1",
      version: "v1",
      now: () => 0,
    }),
  };
  return harbour;
}

const whole = {
  format: "mooring-archive",
  version: 1,
  piers: [{ name: "north", length: 3 }],
  boats: [{ name: "Älva" }, { name: "船" }],
  buoys: [{ name: "red" }],
  captains: [{ name: "ada" }],
};

describe("an export", () => {
  test("has every part in order, with its counts and what is left out", async () => {
    const { archive, piers } = openHarbour();
    piers.set("north", entry("north", { length: 3 }, { key: "k" }));
    const document = await archive.export(ROOT, exports);
    expect(Object.keys(document)).toEqual([
      "format",
      "version",
      "created",
      "mooring",
      "databaseId",
      "revision",
      "secrets",
      "counts",
      "leftOut",
      "piers",
      "boats",
      "buoys",
      "keys",
      "captains",
    ]);
    expect(document).toMatchObject({
      counts: { piers: 1, boats: 0, buoys: 0, keys: 0, captains: 0 },
      leftOut: [
        { part: "piers", names: ["the old pier"] },
        { part: "captains", names: ["the old pier"] },
      ],
      piers: [{ name: "north", length: 3, omitted: ["key"] }],
    });
  });

  test("leaves out parts whose scope the caller lacks, and names them", async () => {
    const { archive } = openHarbour();
    const document = await archive.export(createGrant(["backup:export"], []), exports);
    expect(document.leftOut).toEqual([
      { part: "piers", scope: "sites:read" },
      { part: "captains", scope: "sites:read" },
    ]);
    expect(document).not.toHaveProperty("piers");
  });

  test("of a named part without its scope, or with secrets without theirs, is refused", async () => {
    const { archive } = openHarbour();
    const grant = createGrant(["backup:export"], []);
    const named = await failureOf(() => archive.export(grant, { ...exports, only: ["piers"] }));
    expect(named).toMatchObject({ code: Code.PermissionDenied });
    expect(named.message).toContain("sites:read");
    const clear = await failureOf(() =>
      archive.export(grant, { ...exports, secrets: { mode: "clear" } }),
    );
    expect(clear.message).toContain("settings:reveal");
  });

  test("may be of some parts, and of some entries of one", async () => {
    const { archive, piers } = openHarbour();
    for (const name of ["north", "south"]) piers.set(name, entry(name));
    const document = await archive.export(ROOT, { ...exports, only: ["piers"], names: ["south"] });
    expect(document).toMatchObject({ counts: { piers: 1 }, piers: [{ name: "south" }] });
    const names = await failureOf(() => archive.export(ROOT, { ...exports, names: ["south"] }));
    expect(names.message).toContain("exactly one part");
    const unknown = await failureOf(() => archive.export(ROOT, { ...exports, only: ["boat"] }));
    expect(unknown.message).toContain('Did you mean "boats"');
  });

  test("is not sent when the right of its caller has ended during the seal", async () => {
    const { archive } = openHarbour();
    const secrets = { mode: "seal", passphrase: "long enough" } as const;
    const renew = async (): Promise<void> => {
      throw new ServiceError(Code.Unauthenticated, "the token was revoked");
    };
    const failure = await failureOf(() => archive.export(ROOT, { ...exports, secrets, renew }));
    expect(failure.code).toBe(Code.Unauthenticated);
  });
});

describe("an import", () => {
  test("plans all parts before it writes the first, and completes them at the end", async () => {
    const harbour = openHarbour();
    const { results, skipped, revision } = await harbour.archive.import(whole, root, IMPORT_ALL);
    expect(harbour.log).toEqual([
      "plan piers",
      "plan boats",
      "plan buoys",
      "plan captains",
      "piers",
      "boats",
      "buoys",
      "captains",
      "complete piers",
    ]);
    expect(results.map(({ part, name, outcome }) => `${part} ${name} ${outcome}`)).toEqual([
      "piers north created",
      "boats Älva created",
      "boats 船 created",
      "buoys red created",
      "captains ada created",
    ]);
    expect([revision, skipped]).toEqual([1, []]);
    expect([...(harbour.ledger()["boats"]?.keys() ?? [])]).toEqual(["Älva", "船"]);
  });

  test("in a dry run returns the same results and writes nothing", async () => {
    const harbour = openHarbour();
    const planned = await harbour.archive.import(whole, root, { ...IMPORT_ALL, dryRun: true });
    expect(harbour.log.every((call) => call.startsWith("plan "))).toBe(true);
    expect([harbour.revision, harbour.piers.size]).toEqual([0, 0]);
    const done = await harbour.archive.import(whole, root, IMPORT_ALL);
    expect(done.results).toEqual(planned.results);
  });

  test("with an error in any plan writes nothing", async () => {
    for (const part of ["piers", "boats", "buoys", "captains"]) {
      const harbour = openHarbour((name, dryRun) =>
        name === part && dryRun ? failedPrecondition("no" as never) : undefined,
      );
      expect((await failureOf(() => harbour.archive.import(whole, root, IMPORT_ALL))).message).toBe(
        "no",
      );
      expect([harbour.revision, harbour.piers.size]).toEqual([0, 0]);
    }
  });

  test.each([
    ["boats", "piers", "boats, buoys, captains"],
    ["captains", "piers, boats, buoys", "captains"],
    ["complete piers", "piers, boats, buoys, captains", "piers, boats, buoys, captains"],
  ])(
    "that fails at %s names what is stored, and is completed by the same import",
    async (part, done, left) => {
      let isAway = true;
      const harbour = openHarbour((name, dryRun) =>
        isAway && name === part && !dryRun ? unavailable("the database is away") : undefined,
      );
      const failure = await failureOf(() => harbour.archive.import(whole, root, IMPORT_ALL));
      expect(failure.code).toBe(Code.Unavailable);
      expect(failure.message).toBe(
        `the import failed after ${done} were stored, and before ${left}: repeat it to complete it. The cause: the database is away`,
      );
      isAway = false;
      await harbour.archive.import(whole, root, IMPORT_ALL);
      expect(harbour.piers.size).toBe(1);
      expect(harbour.ledger()).toMatchObject({ boats: { size: 2 }, buoys: { size: 1 } });
      const again = await harbour.archive.import(whole, root, IMPORT_ALL);
      expect(new Set(again.results.map(({ outcome }) => outcome))).toEqual(new Set(["unchanged"]));
    },
  );

  test.each([
    ["before it is read", 1, []],
    ["after it was read", 2, []],
    ["before it is planned", 3, []],
    [
      "before the first part is written",
      6,
      ["plan piers", "plan boats", "plan buoys", "plan captains"],
    ],
  ])("writes nothing when the right of its caller ends %s", async (_when, ended, log) => {
    const harbour = openHarbour();
    let reviews = 0;
    const renew = async (): Promise<void> => {
      reviews += 1;
      if (reviews === ended) throw new ServiceError(Code.Unauthenticated, "the token was revoked");
    };
    const caller = { ...root, renew };
    const failure = await failureOf(() => harbour.archive.import(whole, caller, IMPORT_ALL));
    expect([failure.code, failure.message]).toEqual([
      Code.Unauthenticated,
      "the token was revoked",
    ]);
    expect([harbour.log.slice(0, 4), harbour.revision, harbour.piers.size]).toEqual([log, 0, 0]);
  });

  test("names what is stored when the right of its caller ends between two parts", async () => {
    let isRevoked = false;
    const harbour = openHarbour((part, dryRun) => {
      if (part === "buoys" && !dryRun) isRevoked = true;
      return undefined;
    });
    const renew = async (): Promise<void> => {
      if (isRevoked) throw new ServiceError(Code.Unauthenticated, "the token was revoked");
    };
    const failure = await failureOf(() =>
      harbour.archive.import(whole, { ...root, renew }, IMPORT_ALL),
    );
    expect(failure.code).toBe(Code.Unauthenticated);
    expect(failure.message).toContain("after piers, boats, buoys were stored, and before captains");
  });

  test("of another permanent token is completed, although it ends the right of its caller", async () => {
    let isReplaced = false;
    const harbour = openHarbour((part, dryRun) => {
      if (part === "keys" && !dryRun) isReplaced = true;
      return undefined;
    });
    const renew = async (): Promise<void> => {
      if (isReplaced) throw new ServiceError(Code.Unauthenticated, "the token was reset");
    };
    const document = { ...whole, keys: [{ name: "token" }] };
    await harbour.archive.import(document, { ...root, renew }, IMPORT_ALL);
    expect(harbour.log.slice(-3)).toEqual(["keys", "captains", "complete piers"]);
  });

  test("ends with its call between two parts", async () => {
    const leaving = new AbortController();
    const harbour = openHarbour((part, dryRun) => {
      if (part === "piers" && !dryRun) leaving.abort(new ServiceError(Code.Canceled, "left"));
      return undefined;
    });
    const { signal } = leaving;
    const failure = await failureOf(() =>
      harbour.archive.import(whole, root, { ...IMPORT_ALL, signal }),
    );
    expect(failure.message).toContain("after piers were stored, and before boats");
    expect(harbour.revision).toBe(0);
  });

  test("that fails between two entries of a part names those that are stored", async () => {
    const harbour = openHarbour((part, dryRun) =>
      part === "pier south" && !dryRun ? unavailable("the database is away") : undefined,
    );
    const document = { ...whole, piers: ["north", "south", "west"].map((name) => ({ name })) };
    const failure = await failureOf(() => harbour.archive.import(document, root, IMPORT_ALL));
    expect(failure.message).toContain(
      "after piers (north) were stored, and before piers, boats, buoys, captains: repeat it",
    );
  });

  test("skips parts that the caller may not import, with their numbers, and lists nobody keeps", async () => {
    const { archive, log } = openHarbour();
    const caller = { grant: createGrant(["backup:import", "mounts:write"], ["mount:/*"]), origin };
    const { results, skipped } = await archive.import(
      { ...whole, ropes: [{ name: "long" }] },
      caller,
      IMPORT_ALL,
    );
    expect(results.map(({ part }) => part)).toEqual(["boats", "boats"]);
    expect(skipped.map(({ part, count, reason }) => [part, count, String(reason)])).toEqual([
      ["ropes", 1, "not kept by Mooring: 1 in the file"],
      ["piers", 1, expect.stringContaining("sites:manage")],
      ["buoys", 1, expect.stringContaining("mount:/*")],
      ["captains", 1, expect.stringContaining("sites:manage")],
    ]);
    expect(log).not.toContain("piers");
    const named = await failureOf(() =>
      archive.import(whole, caller, { ...IMPORT_ALL, only: ["piers"] }),
    );
    expect(named.code).toBe(Code.PermissionDenied);
  });

  test("of chosen parts only reads these, and says when the document has none of them", async () => {
    const { archive } = openHarbour();
    const { results, skipped } = await archive.import(whole, root, {
      ...IMPORT_ALL,
      only: ["buoys"],
    });
    expect(results.map(({ part }) => part)).toEqual(["buoys"]);
    expect(skipped).toEqual([]);
    const { boats: _, ...rest } = whole;
    const failure = await failureOf(() =>
      archive.import(rest, root, { ...IMPORT_ALL, only: ["boats"] }),
    );
    expect(failure.message).toBe("this backup has none of these parts: boats");
  });

  test("of more entries than a part has is refused", async () => {
    const { archive } = openHarbour();
    const boats = ["a", "b", "c", "d"].map((name) => ({ name }));
    const failure = await failureOf(() => archive.import({ ...whole, boats }, root, IMPORT_ALL));
    expect(failure.message).toBe("this backup has 4 boats; the limit is 3");
  });

  test("runs one at a time; beyond eight waiting ones it is refused, and a waiting one can be cancelled", async () => {
    let active = 0;
    let most = 0;
    const { archive } = openHarbour(() => {
      active += 1;
      most = Math.max(most, active);
      queueMicrotask(() => {
        active -= 1;
      });
      return undefined;
    });
    const leaving = new AbortController();
    const all = Array.from({ length: 9 }, (_, at) =>
      archive.import(whole, root, { ...IMPORT_ALL, ...(at === 8 && { signal: leaving.signal }) }),
    );
    const failure = await failureOf(() => archive.import(whole, root, IMPORT_ALL));
    expect(failure).toMatchObject({ code: Code.ResourceExhausted });
    leaving.abort(new ServiceError(Code.Canceled, "left"));
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 8 }, () => "fulfilled"),
      "rejected",
    ]);
    expect(most).toBe(1);
  });
});
