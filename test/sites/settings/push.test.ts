import { describe, expect, test } from "vitest";
import { message } from "../../../src/messages/message.ts";
import type { SettingClient, SiteRow } from "../../../src/sites/settings/client.ts";
import { push, type Wanted } from "../../../src/sites/settings/push.ts";
import { SiteFailure, type SiteFailureKind } from "../../../src/sync/failure.ts";

type Values = Readonly<Record<string, string>>;

const row = (key: string, value: string, group = 1): SiteRow => ({
  key,
  value,
  type: "string",
  options: "",
  help: "kept",
  group,
  flag: 0,
  index: 7,
});
const failure = (kind: SiteFailureKind): SiteFailure =>
  new SiteFailure(kind, message("NO_ANSWER"), { code: kind === "refused" ? 500 : 0 });

/** Side effects of a save; may throw before or after storing. @param at number of the save. */
type Save = (rows: readonly SiteRow[], store: () => void, at: number) => void;

interface Options {
  readonly onSave?: Save;
  readonly groups?: Readonly<Record<string, number>>;
  readonly secrets?: readonly string[];
  /** Group in which a list has a key, in place of its own. */
  readonly moved?: Readonly<Record<string, number>>;
}

/** @returns a save that fails where `fails` says so, and stores otherwise. */
const failing =
  (kind: SiteFailureKind, fails: (first: SiteRow, rows: readonly SiteRow[]) => boolean): Save =>
  (rows, store) => {
    if (fails(rows[0] as SiteRow, rows)) throw failure(kind);
    store();
  };

/** @returns a save that stores other values than those that are sent. */
const rewriting =
  (make: (value: string, at: number) => string | undefined): Save =>
  (rows, store, at) => {
    for (const one of rows) Object.assign(one, { value: make(one.value, at) });
    store();
  };

/** A site in memory that stores saved values, and a push of values to it. */
async function pushed(before: Values, values: Values, options: Options = {}) {
  const { onSave = (_rows, store) => store(), groups = {}, secrets = [], moved = {} } = options;
  const stored = new Map(Object.entries(before));
  const saves: string[] = [];
  const limits: (number | undefined)[] = [];
  const hidden: (readonly string[])[] = [];
  const lists: (number | undefined)[] = [];
  const rowsOf = () => [...stored].map(([key, value]) => row(key, value, groups[key]));
  const client = {
    list: async ({ group }: { readonly group?: number } = {}) => {
      lists.push(group);
      const inGroup = (one: SiteRow) => (moved[one.key] ?? one.group) === group;
      return rowsOf().filter((one) => group === undefined || inGroup(one));
    },
    save: async (rows, { limit, secrets: own = [] } = {}) => {
      saves.push(rows.map(({ key, value }) => `${key}=${value}`).join());
      limits.push(limit);
      hidden.push(own);
      expect(rows.every(({ help, index }) => help === "kept" && index === 7)).toBe(true);
      const store = (): void => {
        for (const { key, value } of rows) stored.set(key, value);
      };
      onSave(rows, store, saves.length);
    },
  } as Partial<SettingClient> as SettingClient;
  const listed = rowsOf();
  const wanted = Object.entries(values).map(([key, value]): Wanted => {
    const own = listed.find((one) => one.key === key) as SiteRow;
    return { key, value, row: own, secret: secrets.includes(key) };
  });
  const { results, rows } = await push(client, wanted, listed);
  const outcomes = Object.fromEntries(results.map(({ key, outcome }) => [key, outcome]));
  const values2 = Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  return { saves, limits, hidden, lists, results, outcomes, there: values2 };
}

describe("values are sent", () => {
  test("together, and those with side effects alone, the slow ones last with a longer time-out", async () => {
    const keys = ["ignore_paths", "a", "default_role", "b", "privacy_regs"];
    const old = Object.fromEntries(keys.map((key) => [key, "0"]));
    const values = Object.fromEntries(keys.map((key) => [key, "1"]));
    const { saves, limits, outcomes, there } = await pushed(old, values);
    expect(saves).toEqual(["a=1,b=1", "privacy_regs=1", "default_role=1", "ignore_paths=1"]);
    expect(limits).toEqual([undefined, undefined, undefined, 150_000]);
    expect(new Set(Object.values(outcomes))).toEqual(new Set(["applied"]));
    expect(there).toEqual(values);
  });

  test("with the secrets that no message may quote", async () => {
    const sites = { a: "old", b: "" };
    const { hidden } = await pushed(sites, { a: "s", b: "p" }, { secrets: ["a"] });
    expect(hidden).toEqual([["s", "old"]]);
  });

  test("and read again by their group, or all of them if that does not include each", async () => {
    const old = { a: "", b: "", c: "3" };
    const values = { a: "1", b: "2" };
    const there = { ...old, ...values };
    const one = await pushed(old, values);
    expect([one.lists, one.there]).toEqual([[1], there]);
    const two = await pushed(old, values, { groups: { a: 2 } });
    expect([two.lists, two.there]).toEqual([[undefined], there]);
    const moved = await pushed(old, values, { moved: { a: 2 } });
    expect([moved.lists, moved.there]).toEqual([[1, undefined], there]);
  });
});

describe("a refused value", () => {
  test("is found among many by sending each missing one alone", async () => {
    const { saves, results, outcomes } = await pushed(
      { a: "", b: "", c: "" },
      { a: "1", b: "2", c: "3" },
      {
        onSave: (rows, store, at) => {
          if (at === 1) {
            // Stored and refused: some servers do that.
            store();
            throw failure("refused");
          }
          if (rows[0]?.key === "b") throw failure("refused");
          store();
        },
      },
    );
    expect(saves).toEqual(["a=1,b=2,c=3"]);
    expect(outcomes).toEqual({ a: "applied", b: "applied", c: "applied" });
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
  });

  test("is refused alone, with code and reason, and the others are stored", async () => {
    const { saves, results, outcomes } = await pushed(
      { a: "", b: "", c: "" },
      { a: "1", b: "2", c: "3" },
      { onSave: failing("refused", (_, rows) => rows.some(({ key }) => key === "b")) },
    );
    expect(saves).toEqual(["a=1,b=2,c=3", "a=1", "b=2", "c=3"]);
    expect(outcomes).toEqual({ a: "applied", b: "refused", c: "applied" });
    expect(results[1]).toMatchObject({ code: 500, now: "" });
    expect(String(results[1]?.reason)).toBe(failure("refused").message);
  });

  test("that is the only one is not sent again", async () => {
    const onSave = failing("refused", () => true);
    const { saves, outcomes } = await pushed({ a: "" }, { a: "1" }, { onSave });
    expect([saves, outcomes]).toEqual([["a=1"], { a: "refused" }]);
  });

  test("of several does not hold up values that are sent alone, nor a later save", async () => {
    const { saves, outcomes } = await pushed(
      { a: "", logo: "", default_role: "1" },
      { a: "1", logo: "2", default_role: "3" },
      {
        onSave: (rows, store) => {
          if (rows.length > 1) throw failure("refused");
          for (const one of rows) if (one.key === "logo") Object.assign(one, { value: "2!" });
          store();
        },
      },
    );
    // The rewritten value alone is sent again.
    expect(saves).toEqual(["a=1,logo=2", "a=1", "logo=2", "default_role=3", "logo=2"]);
    expect(outcomes).toEqual({ a: "applied", logo: "rewritten", default_role: "applied" });
  });

  test("of a setting that needs its old value to work is followed by that value", async () => {
    const { saves, outcomes } = await pushed(
      { search_index: "none", default_role: "1", privacy_regs: "" },
      { search_index: "bleve", default_role: "2", privacy_regs: "x" },
      { onSave: failing("refused", ({ value }) => value === "bleve" || value === "x") },
    );
    const index = ["search_index=bleve", "search_index=none"];
    expect(saves).toEqual(["privacy_regs=x", ...index, "default_role=2"]);
    const refused = { search_index: "refused", privacy_regs: "refused" };
    expect(outcomes).toEqual({ ...refused, default_role: "applied" });
  });
});

describe("a call without a reply", () => {
  test.each<SiteFailureKind>(["silent", "unreachable", "too_large"])(
    "(%s) ends the push; values that were stored are applied",
    async (kind) => {
      const { saves, outcomes } = await pushed(
        { a: "", b: "", default_role: "" },
        { a: "1", b: "2", default_role: "3" },
        {
          onSave: (rows, store) => {
            if (rows.length === 2) store();
            throw failure(kind);
          },
        },
      );
      expect(saves).toEqual(["a=1,b=2"]);
      expect(outcomes).toEqual({ a: "applied", b: "applied", default_role: "unknown" });
    },
  );

  test("while values are sent one by one ends it, too", async () => {
    const { saves, outcomes } = await pushed(
      { a: "", b: "", c: "", default_role: "" },
      { a: "1", b: "2", c: "3", default_role: "4" },
      {
        onSave: (rows, store, at) => {
          if (at === 1) throw failure("refused");
          if (rows[0]?.key === "b") throw failure("silent");
          store();
        },
      },
    );
    expect(saves).toEqual(["a=1,b=2,c=3", "a=1", "b=2"]);
    expect(outcomes).toMatchObject({ a: "applied", b: "unknown", default_role: "unknown" });
  });

  test("of a single value ends it", async () => {
    const { saves, outcomes } = await pushed(
      { privacy_regs: "", default_role: "" },
      { privacy_regs: "1", default_role: "2" },
      { onSave: failing("silent", () => true) },
    );
    expect(saves).toEqual(["privacy_regs=1"]);
    expect(outcomes).toEqual({ privacy_regs: "unknown", default_role: "unknown" });
  });

  test.each([failure("unauthorized"), new Error("a fault")])(
    "does not include %s, which is thrown",
    async (error) => {
      const onSave = () => {
        throw error;
      };
      await expect(pushed({ a: "" }, { a: "1" }, { onSave })).rejects.toBe(error);
    },
  );
});

describe("a site that has another value", () => {
  test("may have rewritten the sent one, for keys with that behavior", async () => {
    const onSave = rewriting((value) => `${value}!`);
    const { results, saves } = await pushed({ logo: "0" }, { logo: "1" }, { onSave });
    expect(results).toMatchObject([{ key: "logo", outcome: "rewritten", now: "1!", code: 0 }]);
    expect(saves).toHaveLength(2);
  });

  test.each<[when: string, saved: readonly string[], outcome: string]>([
    ["after the first save: the second one corrects it", ["theirs", "1"], "applied"],
    ["after the second one: it is a difference", ["1!", "theirs"], "overtaken"],
    ["after both, with two values: it is a difference", ["theirs", "theirs too"], "overtaken"],
  ])("may have it from another client, and not rewritten (%s)", async (_when, saved, outcome) => {
    const onSave = rewriting((_, at) => saved[at - 1]);
    const { outcomes } = await pushed({ logo: "0" }, { logo: "1" }, { onSave });
    expect(outcomes).toEqual({ logo: outcome });
  });

  test("may have it from another client, when no second save was possible", async () => {
    const onSave: Save = (rows, store, at) => {
      if (rows[0]?.key === "default_role") throw failure("silent");
      rewriting(() => "theirs")(rows, store, at);
    };
    const values = { logo: "1", default_role: "2" };
    const { outcomes } = await pushed({ logo: "0", default_role: "1" }, values, { onSave });
    expect(outcomes).toEqual({ logo: "overtaken", default_role: "unknown" });
  });

  test("may differ by white space alone, if it has no meaning", async () => {
    const outcome = async (key: string, value: string, make: (value: string) => string) =>
      (await pushed({ [key]: "0" }, { [key]: value }, { onSave: rewriting(make) })).outcomes[key];
    const trim = (value: string) => value.trim();
    expect(await outcome("multipart_chunk_size", "1 ", trim)).toBe("applied");
    expect(await outcome("multipart_chunk_size", "1", () => "9")).toBe("overtaken");
    expect(await outcome("a", "1 ", trim)).toBe("overtaken");
  });

  test("may have kept its own, after two saves", async () => {
    const onSave = () => undefined;
    const { saves, results } = await pushed({ a: "0", b: "0" }, { a: "1", b: "2" }, { onSave });
    expect(saves).toEqual(["a=1,b=2", "a=1", "b=2"]);
    const reason = expect.sentence(/^the site accepted the save but kept its value$/);
    expect(results).toMatchObject(["a", "b"].map((key) => ({ key, outcome: "refused", reason })));
  });

  test("may have stored an earlier save late: the second one counts", async () => {
    const { outcomes, saves } = await pushed(
      { a: "0", b: "0" },
      { a: "1", b: "2" },
      { onSave: (_rows, store, at) => (at === 1 ? undefined : store()) },
    );
    expect([outcomes, saves.length]).toEqual([{ a: "applied", b: "applied" }, 3]);
  });

  test("which does not answer the second save gets no further one", async () => {
    const { saves } = await pushed(
      { a: "0", b: "0" },
      { a: "1", b: "2" },
      {
        onSave: (_rows, _store, at) => {
          if (at > 1) throw failure("silent");
        },
      },
    );
    expect(saves).toEqual(["a=1,b=2", "a=1"]);
  });
});
