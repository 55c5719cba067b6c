import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { FLAG } from "../../src/settings/item.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { definitions, openParts, save, tester, testParts } from "../settings/parts.ts";
import { allRows, expectChain } from "../store/audit-contract.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";

const newPath = temporaryPaths();
const newKey = () => randomBytes(32).toString("hex");
/** A value of sufficient length for a token. */
const hidden = (name: string) => `${name}-${randomBytes(16).toString("hex")}`;
const secretKeys = definitions.filter(({ secret }) => secret).map(({ key }) => key);

/** Whether a text is in any of the database's files, with the log. */
function isOnDisk(path: string, text: string): boolean {
  return ["", "-wal", "-shm", "-journal"]
    .map((suffix) => `${path}${suffix}`)
    .some((file) => existsSync(file) && readFileSync(file).includes(text));
}

describe("secret values in the database", () => {
  test("are plain text without a sealing key, but never in the history", async () => {
    const path = newPath();
    const parts = await testParts(path);
    const values = [hidden("a"), hidden("b")];
    for (const value of values) await save(parts, { aria2_secret: value });
    expect(isOnDisk(path, values[1] ?? "")).toBe(true);
    const history = JSON.stringify(await parts.store.commits(0, 9, 9));
    for (const value of values) expect(history).not.toContain(value);
  });

  test("are in none of its files with a key: every secret setting, with old values", async () => {
    const path = newPath();
    const keys = [newKey()];
    const parts = await testParts(path, { keys });
    const rounds = [hidden("first"), hidden("second")];
    for (const text of rounds)
      for (const key of secretKeys)
        await save(parts, { [key]: /_ur[il]$/.test(key) ? `http://u:${text}@h/` : text });
    const { token } = await parts.settings.resetToken(tester);
    const open = hidden("open");
    await save(parts, { site_title: open });
    const check = (): void => {
      expect(isOnDisk(path, open)).toBe(true);
      for (const text of [...rounds, token]) expect(isOnDisk(path, text)).toBe(false);
    };
    check();
    await parts.close();
    check();
    const again = await testParts(path, { keys });
    expect(again.settings.get("token").value).toBe(token);
    expect(again.settings.get("aria2_secret").value).toBe(rounds[1]);
  });

  test("change visibly in the history, without their content", async () => {
    const parts = await testParts(newPath());
    for (const value of ["one", "two", "one"]) await save(parts, { aria2_secret: value });
    const [first, second, third] = await parts.store.commits(0, 3, 3);
    const [a, b, c] = [first, second, third].map((commit) => commit?.changes[0]);
    expect(a).toMatchObject({ oldBody: null, newBody: null });
    expect(a?.newHashes).toEqual(c?.newHashes);
    expect(b?.newHashes).not.toEqual(a?.newHashes);
    expect(b?.oldHashes).toEqual(a?.newHashes);
  });

  test("that look like sealed ones are kept unchanged, also of custom settings", async () => {
    const path = newPath();
    const parts = await testParts(path);
    const lookalikes = ["sealed:v1:abc", "plain:v1:x", "sealed:v1:0123456789ab:AAAA"];
    for (const value of lookalikes) {
      await save(parts, { aria2_secret: value, mine: value });
      const { settings } = await testParts(path);
      expect(settings.get("aria2_secret").value).toBe(value);
      expect(settings.get("mine").value).toBe(value);
    }
  });
});

describe("a sealing key", () => {
  test("that is added later seals existing values, without a revision, and leaves no plain text", async () => {
    const path = newPath();
    const text = hidden("plain");
    const before = await openParts(path);
    await save(before, { aria2_secret: text, site_title: "Harbour" });
    await before.close();
    expect(isOnDisk(path, text)).toBe(true);
    const parts = await testParts(path, { keys: [newKey()] });
    expect(parts.settings.get("aria2_secret")).toMatchObject({ value: text, revision: 1 });
    expect(parts.ledger.snapshot().revision).toBe(1);
    expect(await parts.store.eraseReplaced()).toBeUndefined();
    expect(isOnDisk(path, text)).toBe(false);
    await parts.close();
    expect(isOnDisk(path, text)).toBe(false);
  });

  test("can be replaced by a new first key; then the old one is not needed any more", async () => {
    const path = newPath();
    const [old, young] = [newKey(), newKey()];
    const before = await openParts(path, { keys: [old] });
    await save(before, { aria2_secret: "s1" });
    await before.close();
    const both = await openParts(path, { keys: [young, old] });
    await save(both, { qbittorrent_url: "http://u:p@h/" });
    await both.close();
    const after = await testParts(path, { keys: [young] });
    expect(after.settings.get("aria2_secret")).toMatchObject({ value: "s1", revision: 1 });
    expect(after.settings.get("qbittorrent_url").value).toBe("http://u:p@h/");
  });

  test("that is new is in the audit with the settings that it sealed, and no value", async () => {
    const path = newPath();
    const [first, second] = [newKey(), newKey()];
    const values = [hidden("a"), hidden("b"), hidden("c")];
    const sealedRows = async () => {
      const store = await openSqliteStore(path);
      const rows = await allRows(store.audit);
      await store.close();
      expectChain(rows);
      for (const secret of [first, second, ...values])
        expect(JSON.stringify(rows)).not.toContain(secret);
      return rows
        .filter(({ method }) => method === "seal")
        .map(({ actor, transport, outcome, subjects, detail }) => ({
          actor,
          transport,
          outcome,
          subjects: subjects.toSorted(),
          ...JSON.parse(detail),
        }));
    };
    const open = async (keys: string[], changes: Record<string, string>) => {
      const parts = await openParts(path, { keys });
      if (Object.keys(changes).length > 0) await save(parts, changes);
      await parts.close();
    };
    await open([], { aria2_secret: values[0] ?? "", ldap_manager_password: values[1] ?? "" });
    expect(await sealedRows()).toEqual([]);
    await open([first], {});
    await open([first], { sso_client_secret: values[2] ?? "" });
    const name = expect.stringMatching(/^[0-9a-f]{12}$/);
    const row = { actor: "mooring", transport: "start", outcome: "OK" };
    const before = { ...row, subjects: ["aria2_secret", "ldap_manager_password"], keys: 2 };
    const begun = { ...before, with: name, before: ["clear"] };
    expect(await sealedRows()).toEqual([begun]);
    // Two processes that start at the same time seal once.
    await Promise.all([open([second, first], {}), open([second, first], {})]);
    const all = await sealedRows();
    const subjects = [...begun.subjects, "sso_client_secret"];
    expect(all).toEqual([begun, { ...row, subjects, keys: 3, with: name, before: [all[0].with] }]);
    expect(all[1].with).not.toBe(all[0].with);
  });

  test.each([
    ["another one", () => [newKey()]],
    ["none", () => []],
  ])("that is missing fails the start (%s) and names the setting", async (_, keys) => {
    const path = newPath();
    const before = await openParts(path, { keys: [newKey()] });
    await save(before, { aria2_secret: "s1" });
    await before.close();
    const failure = await failureOf(() => openParts(path, { keys: keys() }));
    expect(failure.code).toBe(Code.FailedPrecondition);
    expect(failure.message).toMatch(/"aria2_secret" is sealed with the key .*MOORING_SECRET_KEY/);
  });

  test("that only another process has makes this one refuse calls, not continue with an old token", async () => {
    const path = newPath();
    const old = newKey();
    const a = await testParts(path, { keys: [old] });
    await a.settings.resetToken(tester);
    const b = await testParts(path, { keys: [newKey(), old] });
    await b.settings.resetToken(tester);
    const failure = await failureOf(() => a.ledger.fresh());
    expect(failure.code).toBe(Code.FailedPrecondition);
    expect((await failureOf(() => a.ledger.fresh())).message).toMatch(/"token" is sealed/);
    expect((await failureOf(() => save(a, { site_title: "x" }))).code).toBe(
      Code.FailedPrecondition,
    );
  });

  test("that is new does not restore an old value when another process changes it in between", async () => {
    const path = newPath();
    const a = await testParts(path);
    const first = await a.settings.resetToken(tester);
    let second = "";
    const b = await testParts(path, {
      keys: [newKey()],
      wrap: (store) => ({
        ...store,
        rewrite: async (change) => {
          second = (await a.settings.resetToken(tester)).token;
          return store.rewrite(change);
        },
      }),
    });
    expect(second).not.toBe(first.token);
    expect(b.settings.get("token").value).toBe(second);
    expect(await b.store.eraseReplaced()).toBeUndefined();
    for (const token of [first.token, second]) expect(isOnDisk(path, token)).toBe(false);
  });

  test("that another process begins to use is not undone by a process without a key", async () => {
    const path = newPath();
    const a = await testParts(path);
    await a.settings.resetToken(tester);
    const b = await testParts(path, { keys: [newKey()] });
    const clear = hidden("new");
    const refused = failureOf(() => save(a, { aria2_secret: clear }));
    // A save at the same moment is unaffected.
    await save(a, { site_title: "Harbour" });
    expect(await refused).toMatchObject({ code: Code.FailedPrecondition });
    expect((await refused).message).toMatch(
      /this process has no key to seal "aria2_secret": start it with the MOORING_SECRET_KEY/,
    );
    expect(isOnDisk(path, clear)).toBe(false);
    await save(b, { aria2_secret: clear });
    expect(isOnDisk(path, clear)).toBe(false);
  });
});

test("a public setting is never sealed, so that other tools can read it", async () => {
  const path = newPath();
  const parts = await testParts(path, { keys: [newKey()] });
  const text = hidden("public");
  await save(parts, { site_title: text });
  expect(parts.settings.get("site_title").flag).toBe(FLAG.public);
  expect(isOnDisk(path, text)).toBe(true);
});
