import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";
import { definitions, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();
const { signal } = new AbortController();

describe("reading", () => {
  test("lists all settings, or those of some groups, in the order of their definitions", async () => {
    const { settings } = await testParts(newPath());
    const keys = (groups: readonly number[]) => settings.list(groups).map(({ key }) => key);
    expect(keys([])).toEqual(definitions.map(({ key }) => key));
    const expected = definitions.filter(({ group }) => group === 0 || group === 5);
    expect(keys([5, 0, 5])).toEqual(expected.map(({ key }) => key));
    expect(keys([-1, 99])).toEqual([]);
  });

  test("needs the exact key, and quotes a long one in part", async () => {
    const { settings } = await testParts(newPath());
    expect((await failureOf(() => settings.get("Site_Title"))).code).toBe(Code.NotFound);
    const long = await failureOf(() => settings.get("k".repeat(100_000)));
    expect(long.message.length).toBeLessThan(400);
  });

  test("of several needs a key", async () => {
    const { settings } = await testParts(newPath());
    expect((await failureOf(() => settings.batchGet([]))).code).toBe(Code.InvalidArgument);
  });
});

describe("a reset of the token", () => {
  test("stores and returns a new one each time", async () => {
    const parts = await testParts(newPath());
    const first = await parts.settings.resetToken(tester);
    const second = await parts.settings.resetToken(tester);
    expect(first.token).not.toBe(second.token);
    expect(parts.settings.get("token")).toMatchObject({ value: second.token, revision: 2 });
    expect(second.revision).toBe(2);
  });

  test("is refused when a file manages it", async () => {
    const managedBy = () => "the file x.yaml";
    const { settings } = await testParts(newPath(), { managedBy });
    const failure = await failureOf(() => settings.resetToken(tester));
    expect(failure.code).toBe(Code.FailedPrecondition);
    expect(failure.message).toMatch(/^token is managed by the file x.yaml/);
  });
});

/** Download managers that answer or fail, and record their calls. */
function managers(answer: () => Promise<{ version: string }>) {
  const calls: unknown[] = [];
  const ask = ({ signal: _, ...call }: { signal?: AbortSignal }) => {
    calls.push(call);
    return answer();
  };
  return { calls, aria2: { getVersion: ask }, qbittorrent: { checkLogin: ask } };
}

describe("connecting a download manager", () => {
  const address = { uri: "http://aria2.example:6800/jsonrpc", secret: "hidden" };
  const login = { url: "http://admin:pass@localhost:8080/", seedtime: 30 };

  test("stores the address and secret in one revision after a reply", async () => {
    const { calls, ...clients } = managers(async () => ({ version: "1.36.0" }));
    const { settings, history } = await testParts(newPath(), clients);
    expect(await settings.setAria2(address, tester, signal)).toEqual({
      version: "1.36.0",
      revision: 1,
    });
    expect(await settings.setQbittorrent(login, tester, signal)).toMatchObject({ revision: 2 });
    expect(calls).toEqual([address, { url: login.url }]);
    expect(settings.get("aria2_uri").value).toBe(address.uri);
    expect(settings.get("aria2_secret").value).toBe(address.secret);
    expect(settings.get("qbittorrent_url").value).toBe(login.url);
    expect(settings.get("qbittorrent_seedtime").value).toBe("30");
    expect((await history.get(1)).changes.map(({ key }) => key)).toEqual([
      ...["aria2_uri", "aria2_secret"].sort(),
    ]);
  });

  test("accepts an empty secret, and 0 minutes of seeding", async () => {
    const clients = managers(async () => ({ version: "1" }));
    const { settings } = await testParts(newPath(), clients);
    await settings.setAria2({ ...address, secret: "" }, tester, signal);
    await settings.setQbittorrent({ ...login, seedtime: 0 }, tester, signal);
    expect(settings.get("qbittorrent_seedtime").value).toBe("0");
  });

  test("stores nothing when a value is invalid, or a file manages it", async () => {
    const clients = managers(async () => ({ version: "1" }));
    const managedBy = (key: string) => (key === "aria2_secret" ? "the file x.yaml" : undefined);
    const { settings, ledger } = await testParts(newPath(), { ...clients, managedBy });
    const failures = [
      settings.setAria2(address, tester, signal),
      settings.setQbittorrent({ ...login, url: "x".repeat(70_000) }, tester, signal),
    ];
    const codes = await Promise.all(failures.map(async (one) => (await failureOf(() => one)).code));
    expect(codes).toEqual([Code.FailedPrecondition, Code.InvalidArgument]);
    expect(ledger.snapshot().revision).toBe(0);
  });
});
