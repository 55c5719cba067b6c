import { Code } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { createOriginOf, createPeerOf } from "../../src/transport/peer.ts";
import { as } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { invoke, type Transport } from "./transport/transport.ts";

const { saveSettings, listSettings } = SettingService.method;

const sent =
  (headers: Readonly<Record<string, string | undefined>>) =>
  (name: string): string | undefined =>
    headers[name];

describe("the client's address behind proxies", () => {
  const trusted = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32", "unix"];
  const CLIENT = "203.0.113.9";
  const PROXY = "127.0.0.1";
  const SOCKET = "a Unix socket";
  const addressOf = (from = PROXY) => (from === SOCKET ? undefined : from);

  /** Header of a request, the address of its client, what it is about, and the peer of the connection. */
  test.each<[string | undefined, string, string, string?]>([
    [CLIENT, "192.0.2.1", "an untrusted peer", "192.0.2.1"],
    [undefined, PROXY, "a proxy without the header"],
    [CLIENT, CLIENT, "a trusted proxy"],
    [CLIENT, CLIENT, "a proxy on a socket of IPv6", "::ffff:127.0.0.1"],
    [CLIENT, CLIENT, "a proxy on a Unix socket", SOCKET],
    ["1.1.1.1, 203.0.113.9, 10.1.2.3", CLIENT, "values of the client before its address"],
    ["10.1.2.3", "10.1.2.3", "only proxies"],
    ["unknown", PROXY, "no address"],
    ["203.0.113.9, <script>", PROXY, "no address behind one"],
    ["203.0.113.9:4711", CLIENT, "a port"],
    ["[2001:db9::1]:443", "2001:db9::1", "IPv6 with a port", "2001:db8::5"],
    ["::FFFF:203.0.113.9", CLIENT, "IPv4 as IPv6"],
    ["0:0:0:0:0:ffff:cb00:7109", CLIENT, "the same in full"],
    ["203.0.113.9, ::ffff:a01:203", CLIENT, "a proxy in that form"],
    ["2001:DB9:0:0::1", "2001:db9::1", "another form of IPv6"],
    ["fe80::1%eth0", "fe80::1", "a zone"],
  ])("X-Forwarded-For: %s is %s: %s", (forwarded, peer, _what, from) => {
    expect(createPeerOf(trusted)(addressOf(from), sent({ "x-forwarded-for": forwarded }))).toBe(
      peer,
    );
  });

  test.each<[string, string, string, string?]>([
    ["for=203.0.113.9", "192.0.2.1", "an untrusted peer", "192.0.2.1"],
    ["for=203.0.113.9", CLIENT, "a trusted proxy"],
    ["for=203.0.113.9", CLIENT, "a proxy on a Unix socket", SOCKET],
    ["FOR=203.0.113.9;Proto=https", CLIENT, "names in any case"],
    ["proto=http; by=_me ; for=203.0.113.9 ", CLIENT, "any order, with spaces"],
    ['for="203.0.113.9:4711"', CLIENT, "a port"],
    ['for="203.0.113.9:_hidden"', CLIENT, "a hidden port"],
    ['for="[2001:db9::1]:4711"', "2001:db9::1", "IPv6 with a port"],
    ['for="[2001:db9::1]"', "2001:db9::1", "IPv6", "2001:db8::5"],
    ['for="2\\03.0.113.9"', CLIENT, "an escape in quotes"],
    ["for=1.1.1.1, for=203.0.113.9,for=10.1.2.3", CLIENT, "values of the client before it"],
    ["for=10.1.2.3", "10.1.2.3", "only proxies"],
    ["for=unknown", PROXY, "an unknown client"],
    ["for=1.1.1.1, for=_hidden, for=10.1.2.3", "10.1.2.3", "a hidden one"],
    ["for=1.1.1.1, proto=https", PROXY, "nothing of the client"],
    ["for=1.1.1.1;for=203.0.113.9", PROXY, "two addresses in one element"],
    ["for=203.0.113.9:4711", PROXY, "a port without quotes"],
    ['for=1.1.1.1;by="x, for=203.0.113.9', CLIENT, "quotes that never end before it"],
    ['for=203.0.113.9;by=", for=1.1.1.1;x="', CLIENT, "an element in quotes"],
    ["nonsense", PROXY, "no element"],
    ["", PROXY, "nothing"],
    ["for=1.1.1.1,", PROXY, "nothing behind one"],
  ])("Forwarded: %s is %s: %s", (forwarded, peer, _what, from) => {
    expect(createPeerOf(trusted)(addressOf(from), sent({ forwarded }))).toBe(peer);
  });

  test.each<[string, string, string]>([
    ["for=203.0.113.9", "203.0.113.9", "203.0.113.9"],
    ["for=203.0.113.9", "1.1.1.1", "127.0.0.1"],
    ["for=1.1.1.1", "203.0.113.9", "127.0.0.1"],
    ["nonsense", "203.0.113.9", "127.0.0.1"],
  ])("Forwarded: %s beside X-Forwarded-For: %s is %s", (forwarded, other, peer) => {
    const headers = sent({ forwarded, "x-forwarded-for": other });
    expect(createPeerOf(trusted)("127.0.0.1", headers)).toBe(peer);
  });

  test("a header of any length and form is parsed in linear time", () => {
    for (const part of [",", ',a="', ',a="\\"', ';a="', "for=1.1.1.1;", "a=b ;"])
      createPeerOf(trusted)("127.0.0.1", sent({ forwarded: part.repeat(20_000) }));
  });

  test("is the peer of the connection without trusted proxies", () => {
    expect(createPeerOf([])("127.0.0.1", sent({ "x-forwarded-for": "203.0.113.9" }))).toBe(
      "127.0.0.1",
    );
  });
});

describe("the requested scheme and host", () => {
  const trusted = ["127.0.0.1", "10.0.0.0/8"];
  const HTTPS = { scheme: "https", host: "files.example" };
  const usual = (proto: string, host: string) => ({
    "x-forwarded-proto": proto,
    "x-forwarded-host": host,
  });
  test.each<[string, Record<string, string>, object, string?]>([
    ["in X-Forwarded-Proto and -Host", usual("https", "files.example"), HTTPS],
    ["in Forwarded", { forwarded: "for=203.0.113.9;proto=https;host=files.example" }, HTTPS],
    ["in Forwarded, without a client", { forwarded: 'proto=HTTPS;host="files.example"' }, HTTPS],
    [
      "with a port",
      { forwarded: 'proto=http;host="[2001:db8::1]:8443"' },
      { scheme: "http", host: "[2001:db8::1]:8443" },
    ],
    ["by an untrusted peer", usual("https", "files.example"), {}, "192.0.2.1"],
    [
      "by the outermost of two proxies",
      {
        forwarded:
          "for=203.0.113.9;proto=https;host=files.example, for=10.1.2.3;proto=http;host=in",
      },
      HTTPS,
    ],
    [
      "by the outermost of two proxies in lists",
      { "x-forwarded-for": "203.0.113.9, 10.1.2.3", ...usual("https, http", "files.example, in") },
      HTTPS,
    ],
    [
      "by a peer before the outermost proxy",
      {
        "x-forwarded-for": "198.51.100.7, 203.0.113.9",
        ...usual("http, https", "evil.example, files.example"),
      },
      HTTPS,
    ],
    [
      "by a peer before the outermost proxy, in Forwarded",
      { forwarded: "for=198.51.100.7;host=evil.example, for=203.0.113.9" },
      {},
    ],
    [
      "in both ways",
      { forwarded: "for=203.0.113.9;proto=https", ...usual("https", "files.example") },
      HTTPS,
    ],
    [
      "in two ways that differ",
      { forwarded: "proto=http;host=evil.example", ...usual("https", "files.example") },
      {},
    ],
    [
      "for two clients",
      { "x-forwarded-for": "203.0.113.9", forwarded: "for=198.51.100.7;host=evil.example" },
      {},
    ],
    ["with invalid scheme and host", usual("gopher", "a b/<x>"), {}],
    ["twice in one element", { forwarded: "host=a.example;host=b.example" }, {}],
  ])("%s: %j is %j", (_, headers, expected, address = "127.0.0.1") => {
    const { peer: _peer, ...origin } = createOriginOf(trusted)(address, sent(headers));
    expect(origin).toEqual(expected);
  });
});

const origin: readonly Readonly<Record<string, string>>[] = [
  { "x-forwarded-for": "198.51.100.7, 203.0.113.9" },
  { forwarded: 'for=198.51.100.7, for="203.0.113.9:4711";proto=https' },
];

describe.each(origin)("with %j", (forwarding) => {
  test.each([
    { proxies: "127.0.0.1", peer: "203.0.113.9" },
    { proxies: "192.0.2.1", peer: "127.0.0.1" },
  ])(
    "history, log and throttle of every protocol have $peer with MOORING_TRUSTED_PROXIES=$proxies",
    async ({ proxies, peer }) => {
      const env = { MOORING_TRUSTED_PROXIES: proxies, MOORING_WRONG_TOKENS: "3" };
      const service = await startService({ env });
      onTestFinished(service.stop);
      const posting = sharedPortTransports
        .filter(({ name }) => name !== "Connect GET")
        .map(({ open }) => open(service));
      onTestFinished(() => posting.forEach(({ close }) => void close()));
      const save = (transport: Transport, value: string, authorization: string) => {
        const members = { settings: [{ key: "site_title", value }] };
        return invoke(transport, saveSettings, members, { ...forwarding, authorization });
      };
      for (const [at, transport] of posting.entries())
        expect(await save(transport, `by transport ${at}`, TOKEN)).toMatchObject({ kind: "reply" });
      const { settings } = as(service.port);
      const { revisions } = await settings.listRevisions({ pageSize: posting.length });
      expect(revisions.map((revision) => revision.peer)).toEqual(posting.map(() => peer));
      const logged = service
        .logLines()
        .filter(({ method }) => /SaveSettings$/.test(String(method)));
      expect(logged.map((line) => line["peer"])).toEqual(posting.map(() => peer));
      for (const transport of [...posting, ...posting]) await save(transport, "refused", "wrong");
      const grpc = grpcTransport("gRPC", service.port);
      onTestFinished(grpc.close);
      const codeFor = async (headers: Readonly<Record<string, string>>) =>
        (await invoke(grpc, listSettings, {}, { ...headers, authorization: "wrong" })) as object;
      expect(await codeFor(forwarding)).toMatchObject({ code: Code.ResourceExhausted });
      expect(await codeFor({ "x-forwarded-for": "203.0.113.10" })).toMatchObject({
        code: peer === "127.0.0.1" ? Code.ResourceExhausted : Code.Unauthenticated,
      });
    },
  );
});
