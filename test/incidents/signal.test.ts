import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  classify,
  leadingSignal,
  type Observation,
  observe,
  type Signals,
} from "../../src/incidents/incident.ts";
import { expiryOf, tokenEnd } from "../../src/incidents/token-end.ts";

describe("the class of a driver's message", () => {
  test.each([
    ["require login [guest]", "credential"],
    ["failed init storage: token [st invalid]", "credential"],
    ["user not login, errNo 990001", "credential"],
    ["request failed,code: 401, message: token is invalidated", "credential"],
    ["invalid_grant", "credential"],
    ["4126: refreshed by other process", "credential"],
    ["failed to refresh token: empty token", "credential"],
    ["errno: -6", "credential"],
    ["errno: 111", "credential"],
    ["authorization has expired", "credential"],
    ["InvalidSessionKey", "credential"],
    ["login failed", "credential"],
    ["please enter the SMS code", "person"],
    ['need verify: <a href="https://x">', "person"],
    ['<html><img src="data:image/png;base64,AAAA"></html>', "person"],
    ["QR code expired", "person"],
    ["429 Too Many Requests", "quota"],
    ["storage quota exceeded", "quota"],
    ["status: 502", "network"],
    ["context deadline exceeded", "network"],
    ["Get https://x: dial tcp: lookup x: no such host", "network"],
    ["unexpected EOF", "network"],
    // The network failed, not the token.
    ["failed to refresh token: Post https://x: dial tcp 1.2.3.4:443: i/o timeout", "network"],
    ["stat /srv/gone: no such file or directory", "configuration"],
    ["no driver named: X", "configuration"],
    ["authorization is invalid, strs < 4", "credential"],
    ["530 Login incorrect", "credential"],
    ["账号或密码错误", "credential"],
    ["提取码错误", "credential"],
    ["Operation too frequent", "quota"],
    ["剩余空间不足", "quota"],
    ["分享已取消", "gone"],
    ["啊哦，你来晚了，分享的文件已经被取消了", "gone"],
    ["The share has expired", "gone"],
    ["AADSTS50076: you must use multi-factor authentication", "person"],
    ["您的账号已被冻结", "person"],
    ["x509: certificate signed by unknown authority", "network"],
    ["ssh: handshake failed: knownhosts: key mismatch", "configuration"],
    ["ssh: handshake failed: ssh: unable to authenticate", "credential"],
    ["something else", "unknown"],
    ["", "unknown"],
  ])("%s", (message, expected) => {
    expect(classify(message)).toBe(expected);
  });

  test("is the expected one for the messages of public reports", () => {
    const file = new URL("reported-messages.json", import.meta.url);
    const reported: { class: string; source: string; message: string }[] = JSON.parse(
      readFileSync(file, "utf8"),
    );
    expect(reported.length).toBeGreaterThan(150);
    for (const { source } of reported) expect(source).toMatch(/^[\w.-]+\/[\w.-]+#\d+$/);
    const found = reported.map((each) => ({ ...each, class: classify(each.message) }));
    expect(found).toEqual(reported);
  });
});

describe("the signals of a mount", () => {
  const plain = (message: string): string => message.replaceAll("secret", "********");
  const signalsAfter = (
    ...observations: readonly (Observation | [Observation, number])[]
  ): Signals => {
    let now = 1_000_000;
    return observations.reduce((signals: Signals, each) => {
      const [observation, later] = Array.isArray(each) ? each : [each, 60_000];
      now += later;
      return observe(signals, observation, { now, plain });
    }, {});
  };
  const status = (text: string, remade = false): Observation => ({
    kind: "status",
    status: text,
    remade,
  });
  const probe = (error: string): Observation => ({ kind: "probe", error });
  const lead = (signals: Signals) => leadingSignal(signals)?.source;

  test("an error status opens an incident at once, and the status work closes it", () => {
    expect(lead(signalsAfter(status("login failed")))).toBe("status");
    expect(lead(signalsAfter(status("login failed"), status("work")))).toBeUndefined();
  });

  test("an empty status changes nothing: the mount is starting", () => {
    expect(lead(signalsAfter(status("login failed"), status("")))).toBe("status");
    expect(lead(signalsAfter(status("")))).toBeUndefined();
  });

  test("the status work, which is kept while listings fail, does not close a listing's incident", () => {
    expect(lead(signalsAfter(status("work"), probe("login failed"), status("work")))).toBe("probe");
    expect(lead(signalsAfter(probe("login failed"), status("work"), probe("")))).toBeUndefined();
    // A changed row is another mount: the next listing decides.
    expect(lead(signalsAfter(probe("login failed"), status("work", true)))).toBeUndefined();
  });

  test("a successful listing does not close the incident of a status, which servers keep, or of a token's expiry", () => {
    const ends: Observation = { kind: "expiry", error: "token ends" };
    expect(lead(signalsAfter(status("login failed"), probe("")))).toBe("status");
    expect(lead(signalsAfter(probe("login failed"), ends, probe("")))).toBe("expiry");
    expect(lead(signalsAfter(ends, { kind: "expiry", error: undefined }))).toBeUndefined();
  });

  test("network errors count from the third in a row, 30 s apart", () => {
    const down = status("dial tcp: i/o timeout");
    expect(lead(signalsAfter(down, down))).toBeUndefined();
    expect(lead(signalsAfter(down, [down, 29_999], [down, 29_999]))).toBeUndefined();
    expect(lead(signalsAfter(down, [down, 30_000], [down, 30_000]))).toBe("status");
    expect(lead(signalsAfter(down, down, status("work"), down))).toBeUndefined();
    expect(lead(signalsAfter(down, down, status("login failed")))).toBe("status");
  });

  test("a mount that is disabled or deleted has no incident", () => {
    expect(signalsAfter(status("login failed"), probe("login failed"), { kind: "off" })).toEqual(
      {},
    );
  });

  test("messages are stored without secrets", () => {
    expect(signalsAfter(status("login failed: secret")).status?.message).toBe(
      "login failed: ********",
    );
    expect(signalsAfter(probe("login failed: secret")).probe?.message).toBe(
      "login failed: ********",
    );
  });
});

describe("the expiry of a token", () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = (exp: unknown): string => `${part({ alg: "RS256" })}.${part({ exp })}.c2ln`;
  const now = Date.UTC(2026, 10, 24);

  test("is read from a JWT", () => {
    expect(expiryOf(token(1_800_000_000))).toBe(1_800_000_000_000);
    expect(expiryOf(`Bearer ${token(1_800_000_000)}`)).toBe(1_800_000_000_000);
  });

  test.each([
    "",
    "a.b.c",
    "plain text",
    token("soon"),
    token(-1),
    token(undefined),
    "x".repeat(20_000),
  ])("is read from no other text: %#", (text) => {
    expect(expiryOf(text)).toBeUndefined();
  });

  test("counts within three days, for items that users set and for refresh tokens", () => {
    const soon = token(now / 1_000 + 86_400);
    const later = token(now / 1_000 + 4 * 86_400);
    const past = token(now / 1_000 - 1);
    expect(tokenEnd("Other", { authorization: soon }, now)?.item).toBe("authorization");
    expect(tokenEnd("Other", { authorization: later }, now)).toBeUndefined();
    expect(tokenEnd("Other", { a: soon, b: past }, now)?.item).toBe("b");
    expect(tokenEnd("AliyundriveOpen", { refresh_token: past }, now)?.item).toBe("refresh_token");
    // The server refreshes access tokens itself.
    expect(tokenEnd("AliyundriveOpen", { AccessToken: past }, now)).toBeUndefined();
    expect(tokenEnd("Other", { number: 5, nothing: null }, now)).toBeUndefined();
  });
});
