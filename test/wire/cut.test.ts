import { describe, expect, onTestFinished, test } from "vitest";
import { startedForAll } from "../started.ts";
import { type Cuttable, cuttables, fieldsOf, headOf } from "./raw/cuttable.ts";
import { RawHttp2 } from "./raw/http2.ts";
import { dial, type Line } from "./raw/line.ts";
import { Witness } from "./raw/witness.ts";

const over = (http: "1.1" | "2"): [string, Cuttable][] =>
  cuttables.filter((one) => one.http.includes(http)).map((one) => [one.name, one]);

/** Ways to break off an HTTP/2 stream whose body has not ended. */
const http2Cuts: readonly (readonly [string, (client: RawHttp2) => void])[] = [
  ["RST_STREAM 8 (CANCEL)", (client) => client.reset(1, 8)],
  ["RST_STREAM 0 (NO_ERROR)", (client) => client.reset(1, 0)],
  ["RST_STREAM 2 (INTERNAL_ERROR)", (client) => client.reset(1, 2)],
  [
    "GOAWAY and close",
    (client) => {
      client.goaway();
      client.line.socket.end();
    },
  ],
  ["FIN", ({ line }) => void line.socket.end()],
  ["a TCP reset", ({ line }) => void line.socket.resetAndDestroy()],
];

/** Service of all requests: none of those that are dropped changes its state. */
const witness = startedForAll(() => Witness.start());

/** Checks that a complete request is executed. */
async function expectExecuted(
  request: Cuttable,
  send: (witness: Witness) => Promise<string>,
): Promise<void> {
  // The token is invalid after a reset.
  if (request.does === "reset") {
    const own = await Witness.start();
    onTestFinished(() => own.stop());
    const before = await own.before();
    await own.expectCarriedOut(await send(own), request, before);
    return;
  }
  const before = await witness.before();
  await witness.expectCarriedOut(await send(witness), request, before);
  if (request.does === "save") await witness.putBack();
}

describe.each(over("2"))("over HTTP/2, %s", (_name, request) => {
  const { first, rest } = request.body;
  const all = Buffer.concat([first, rest]);
  const announced = { "content-length": String(all.length) };

  const open = async (more: Record<string, string> = {}, of: Witness = witness) => {
    const name = of.name();
    const client = await RawHttp2.open(of.service.port);
    client.headers(1, fieldsOf(request, { "x-request-id": name, ...more }));
    return { name, client };
  };

  test.each(http2Cuts)("broken off by %s, is dropped", async (_cut, cut) => {
    const before = await witness.before();
    const drop = async (sent: Buffer, length: Record<string, string>) => {
      const { name, client } = await open(length);
      client.data(1, sent);
      await client.settled();
      cut(client);
      return name;
    };
    const sendings = [first, all].flatMap((sent) => [drop(sent, {}), drop(sent, announced)]);
    await witness.expectDropped(await Promise.all(sendings), request, before);
  });

  test("with RST_STREAM immediately after its body, is dropped", async () => {
    const before = await witness.before();
    const names: string[] = [];
    for (const code of [8, 0, 2]) {
      const { name, client } = await open();
      await client.settled();
      client.line.socket.cork();
      client.data(1, all);
      client.reset(1, code);
      client.line.socket.uncork();
      names.push(name);
    }
    await witness.expectDropped(names, request, before);
  });

  test("ended before its announced length, is dropped", async () => {
    const before = await witness.before();
    const { name, client } = await open(announced);
    client.data(1, first, true);
    await witness.expectDropped([name], request, before);
  });

  test("complete, is executed", () =>
    expectExecuted(request, async (of) => {
      const { name, client } = await open(announced, of);
      client.data(1, first);
      await client.settled();
      client.data(1, rest, true);
      if (request.does === "stream") await endStream(client.line);
      return name;
    }));
});

/** Ways to break off a request over HTTP/1.1. */
const http1Cuts: readonly (readonly [string, (line: Line) => void])[] = [
  ["FIN", ({ socket }) => void socket.end()],
  ["a TCP reset", ({ socket }) => void socket.resetAndDestroy()],
];

describe.each(over("1.1"))("over HTTP/1.1, %s", (_name, request) => {
  const { first, rest } = request.body;
  const all = Buffer.concat([first, rest]);
  const announced = `content-length: ${all.length}`;
  const chunked = "transfer-encoding: chunked";

  const open = async (framing: string, of: Witness = witness) => {
    const name = of.name();
    const line = await dial(of.service.port);
    line.socket.write(headOf(request, framing, { "x-request-id": name }));
    return { name, line };
  };

  const cases = http1Cuts.flatMap(([name, cut]) => [
    [`${name} before its announced length`, announced, first, cut] as const,
    [
      `${name} before a chunk ends`,
      chunked,
      chunk(all).subarray(0, -2 - rest.length),
      cut,
    ] as const,
    [`${name} before its last chunk`, chunked, chunk(first), cut] as const,
    [`${name} without a last chunk`, chunked, chunk(all), cut] as const,
  ]);

  test.each(cases)("broken off by %s, is dropped", async (_cut, framing, sent, cut) => {
    const before = await witness.before();
    const { name, line } = await open(framing);
    line.socket.write(sent);
    // The reply to another connection proves that the bytes of this one were read as well.
    await witness.state();
    cut(line);
    await witness.expectDropped([name], request, before);
  });

  test("complete, is executed", () =>
    expectExecuted(request, async (of) => {
      const { name, line } = await open(chunked, of);
      line.socket.write(Buffer.concat([chunk(first), chunk(rest), Buffer.from("0\r\n\r\n")]));
      if (request.does === "stream") await endStream(line);
      return name;
    }));
});

/** A stream ends when its client disconnects, after its first message. */
async function endStream(line: Line): Promise<void> {
  await line.until((received) => received.includes("site_title"));
  line.socket.destroy();
}

function chunk(bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes;
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
}

test("the table has every transport with every kind of call", () => {
  const kinds = new Set(cuttables.map(({ transport, does }) => `${transport} ${does}`));
  for (const transport of ["rest", "connect", "grpc-web", "grpc"])
    for (const does of ["save", "reset", "stream"]) expect(kinds).toContain(`${transport} ${does}`);
});
