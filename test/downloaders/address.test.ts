import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { parseAddress, showAddress } from "../../src/downloaders/address.ts";
import { createAria2Client } from "../../src/downloaders/aria2.ts";
import { createQbittorrentClient } from "../../src/downloaders/qbittorrent.ts";
import { expectFailure, failureOf, textsOf } from "./failure.ts";

const RULE = { field: "url", schemes: ["http:", "https:"], example: "http://host/" };

describe("an address", () => {
  it("is split into the address to connect to, credentials and the printable address", () => {
    const address = parseAddress("https://me:p%40ss%25@host:8080/qb/?k=v#top", RULE);
    expect(address.url.href).toBe("https://host:8080/qb/?k=v");
    expect(address).toMatchObject({ user: "me", password: "p@ss%" });
    expect(address.shown).toBe("https://host:8080/qb/");
  });

  it("keeps the brackets of an IPv6 address", () => {
    expect(parseAddress("http://[::1]:8080", RULE).shown).toBe("http://[::1]:8080/");
  });

  it("is printed with 200 characters at most", () => {
    expect(showAddress(new URL(`http://host/${"a".repeat(500)}`))).toHaveLength(201);
  });
});

describe("an address is refused without being repeated:", () => {
  const SECRET = "hunter2hunter2";
  const cases = [
    ["empty", "", /begins with one of/],
    ["no scheme", `admin:${SECRET}@host:8080`, /begins with one of http:\/\//],
    ["a foreign scheme", `ftp://admin:${SECRET}@host/`, /begins with one of/],
    ["a file", `file:///etc/${SECRET}`, /begins with one of/],
    ["no host", `http://admin:${SECRET}@/`, /begins with one of/],
    ["a port out of range", `http://admin:${SECRET}@host:99999/`, /begins with one of/],
    ["a / in the password", `http://admin:12/${SECRET}@host/`, /@ after its host.*%2F/],
    ["a ? in the password", `http://admin:12?${SECRET}@host/`, /@ after its host.*%3F/],
    ["a # in the password", `http://admin:12#${SECRET}@host/`, /@ after its host.*%23/],
    ["a bare % in the password", `http://admin:${SECRET}%@host/`, /%25/],
    ["too long", `http://host/${SECRET}${"a".repeat(2048)}`, /longer than 2048/],
  ] as const;

  it.for(cases)("%s", async ([, text, message]) => {
    const calls = [
      ["uri", createAria2Client().getVersion({ uri: text, secret: SECRET })],
      ["url", createQbittorrentClient().checkLogin({ url: text })],
    ] as const;
    for (const [field, call] of calls) {
      const error = await failureOf(call);
      expectFailure(error, Code.InvalidArgument, message, [SECRET]);
      expect(error.violations).toMatchObject([{ field }]);
      expect(textsOf(error.violations)).not.toContain(SECRET);
    }
  });

  it("a secret that is too long", async () => {
    const call = { uri: "http://127.0.0.1:1/jsonrpc", secret: SECRET.repeat(100) };
    const error = await failureOf(createAria2Client().getVersion(call));
    expectFailure(error, Code.InvalidArgument, /^secret is longer than 1024/, [SECRET]);
  });

  it("WebSocket schemes for qBittorrent", async () => {
    const error = await failureOf(createQbittorrentClient().checkLogin({ url: "ws://host/" }));
    expectFailure(error, Code.InvalidArgument, /begins with one of http:\/\/, https:\/\//);
  });
});
