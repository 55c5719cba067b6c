import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createGrant } from "../../src/access/grant.ts";
import { createRecordEtags } from "../../src/ledger/record-etag.ts";
import { createFingerprint } from "../../src/secrets/fingerprint.ts";
import { FLAG } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { rightsOf } from "../../src/settings/rights.ts";
import { temporaryPaths } from "../store/folder.ts";
import { changed, commit, stored, writing } from "../store/sample.ts";
import { failureOf } from "../thrown.ts";
import { type Parts, restore, save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();
const time = Date.UTC(2026, 1, 3, 4, 5, 6);

const made = async (): Promise<Parts> => testParts(newPath(), { now: () => time });

/** A save of some keys that expects their etags. */
const expecting = (parts: Parts, expected: Readonly<Record<string, string>>) =>
  parts.settings.save(
    Object.entries(expected).map(([key, expectedEtag]) => ({
      key,
      value: `by-${expectedEtag}`,
      expectedEtag,
    })),
    tester,
  );

const etagOf = (parts: Parts, key: string) => parts.settings.etagOf(parts.settings.get(key));

/** Details of a conflict. */
async function aborted(change: () => Promise<unknown>): Promise<string> {
  const { code, message } = await failureOf(change);
  expect(code).toBe(Code.Aborted);
  return message;
}

describe("a change that expects a revision of all settings", () => {
  test("is accepted at that revision only", async () => {
    const parts = await made();
    const logo = (expectedRevision: number) =>
      parts.settings.save([{ key: "logo", value: `${expectedRevision}` }], tester, {
        expectedRevision,
      });
    await logo(0);
    await logo(1);
    for (const wrong of [0, 1, 3, -1]) await aborted(() => logo(wrong));
    await logo(2);
    expect(parts.ledger.snapshot().revision).toBe(3);
  });

  test("is refused with the changes since, their time, actor and transport", async () => {
    const parts = await made();
    await save(parts, { site_title: "one" });
    const ann = { ...tester, actor: "ann", transport: "grpc" };
    await parts.settings.save([{ key: "site_title", value: "two" }], ann);
    const keys = ["a", "b", "c", "d"].map((key) => ({ key, value: "" }));
    await parts.settings.save(keys, { ...tester, actor: "bob" });
    const refusal = () =>
      parts.settings.save([{ key: "logo", value: "" }], tester, { expectedRevision: 1 });
    expect(await aborted(refusal)).toBe(
      "nothing was changed: the database has changed since revision 1: " +
        "revision 3 by bob (test) at 2026-02-03T04:05:06.000Z: a, b, c …; " +
        "revision 2 by ann (grpc) at 2026-02-03T04:05:06.000Z: site_title. " +
        "Read again and retry",
    );
  });

  test("is refused with its own error when that revision does not exist yet", async () => {
    const parts = await made();
    const early = () => parts.settings.save([], tester, { expectedRevision: 7 });
    expect(await aborted(early)).toMatch(/revision 7 does not exist in this database/);
  });

  test("may be a rollback or a dry run", async () => {
    const parts = await made();
    await save(parts, { site_title: "one" });
    await save(parts, { site_title: "two" });
    await aborted(() => restore(parts, 1, [], { expectedRevision: 1 }));
    await aborted(() => parts.settings.save([], tester, { expectedRevision: 1, dryRun: true }));
    expect(await restore(parts, 1, [], { expectedRevision: 2 })).toMatchObject({
      revision: 3,
    });
  });
});

describe("a save that expects the etag of a setting", () => {
  test("is accepted while that setting has not changed, even if others have", async () => {
    const parts = await made();
    await save(parts, { site_title: "one" });
    const title = etagOf(parts, "site_title");
    await save(parts, { logo: "two" });
    await expecting(parts, { site_title: title });
    await expecting(parts, { logo: etagOf(parts, "logo") });
    expect(await aborted(() => expecting(parts, { favicon: "0", site_title: title }))).toMatch(
      /site_title has changed since revision 1: revision 3 by tester/,
    );
    expect(parts.settings.get("favicon").revision).toBe(0);
  });

  test("0 is accepted only if it has its default, or does not exist", async () => {
    const parts = await made();
    await expecting(parts, { site_title: "0", mine: "0" });
    expect(await aborted(() => expecting(parts, { site_title: "0" }))).toMatch(/since revision 0/);
    expect(await aborted(() => expecting(parts, { mine: "0" }))).toMatch(/mine has changed/);
  });

  test("is refused when the setting was deleted since", async () => {
    const parts = await made();
    await parts.settings.save([{ key: "mine", value: "1", flag: FLAG.deprecated }], tester);
    const etag = etagOf(parts, "mine");
    await parts.settings.delete("mine", tester);
    expect(await aborted(() => expecting(parts, { mine: etag }))).toMatch(
      /mine has changed since revision 1: revision 2 by tester/,
    );
  });

  test("is refused for the same revision of another database, unless the value is the same", async () => {
    const [lost, kept] = [await made(), await made()];
    await save(lost, { site_title: "lost", logo: "same" });
    const { fingerprintKey } = lost.store;
    const database = createFingerprint(fingerprintKey);
    const etags = createRecordEtags(database);
    const of = (content: string) => etags.of({ key: "site_title", revision: 1, content });
    expect(etagOf(lost, "site_title")).toBe(of("lost"));
    await save(kept, { site_title: "kept" });
    for (const wrong of [of("lost"), of("kept").replace("1.", "2.")])
      expect(await aborted(() => expecting(kept, { site_title: wrong }))).toMatch(
        /revision [12] does not exist in this database/,
      );
  });

  test("is checked against earlier saves of the same commit", async () => {
    const parts = await made();
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => expecting(parts, { site_title: "0" })),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(parts.ledger.snapshot().revision).toBe(1);
  });
});

describe("a delete that expects an etag", () => {
  test("is accepted while that setting has not changed", async () => {
    const parts = await made();
    await parts.settings.save([{ key: "mine", value: "1", flag: FLAG.deprecated }], tester);
    const [first, state] = [etagOf(parts, "mine"), await parts.settings.line.at(1)];
    await save(parts, { mine: "2" });
    const removal = (expectedEtag: string) =>
      parts.settings.delete("mine", tester, { expectedEtag });
    for (const wrong of [first, state]) await aborted(() => removal(wrong));
    for (const wrong of ["9.0123456789abcdef", "x"])
      await expect(removal(wrong)).rejects.toMatchObject({ code: Code.Aborted, envelopeCode: 412 });
    const now = await parts.settings.line.at(2);
    await save(parts, { logo: "x" });
    await removal(now);
    await parts.settings.save([{ key: "mine", value: "1", flag: FLAG.deprecated }], tester);
    await removal(etagOf(parts, "mine"));
  });
});

test("a conflict whose history cannot be read is UNAVAILABLE, not an unknown error", async () => {
  const parts = await made();
  await save(parts, { site_title: "one" });
  const refusal = failureOf(() => parts.settings.save([], tester, { expectedRevision: 0 }));
  // The change is decided before the store is closed, its explanation afterwards.
  await parts.ledger.change(tester, () => undefined);
  await parts.close();
  expect([Code.Unavailable, Code.Aborted]).toContain((await refusal).code);
});

test("a token with limits gets no details of revisions outside of them", async () => {
  const parts = await made();
  await save(parts, { mine_a: "1" });
  await parts.settings.save([{ key: "site_title", value: "x" }], {
    ...tester,
    actor: "ann/secret",
  });
  const rights = rightsOf(createGrant(["settings:write"], ["key:mine_*"]), parts.ledger.snapshot);
  const change = (expectedRevision: number) =>
    aborted(() =>
      parts.settings.save(
        [{ key: "mine_a", value: "2" }],
        { ...tester, rights },
        { expectedRevision },
      ),
    );
  expect(await change(1)).toBe(
    "nothing was changed: the database has changed since revision 1: changes outside the limits of this token. Read again and retry",
  );
  await parts.settings.save([{ key: "mine_a", value: "3" }], { ...tester, actor: "bob" });
  const both = await change(1);
  expect(both).toContain("revision 3 by bob (test)");
  expect(both).not.toMatch(/revision 2|ann|site_title/);
});

test("a custom setting with a key that is invalid today can be changed and deleted", async () => {
  const parts = await made();
  const key = "tok\u0435n\u200b";
  const attributes = JSON.stringify({ type: "string", options: "", help: "", group: 0, flag: 1 });
  const upserts = [stored({ kind: SETTINGS.name, key, body: "1", attributes })];
  const changes = [changed({ kind: SETTINGS.name, key, newBody: "1" })];
  await parts.store.transact((trx) =>
    trx.write(writing({ upserts, revisions: [commit({ revision: 1, changes })] })),
  );
  await parts.ledger.refresh();
  await save(parts, { [key]: "2" });
  await parts.settings.save([{ key, value: "2", flag: FLAG.deprecated }], tester);
  await parts.settings.delete(key, tester);
  expect(parts.ledger.snapshot().get(SETTINGS, key)).toBeUndefined();
  const again = await failureOf(() => save(parts, { [key]: "1" }));
  expect(again.code).toBe(Code.InvalidArgument);
});
