import { once } from "node:events";
import { connect } from "node:http2";
import { describe, expect, onTestFinished, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { cuttables, enveloped, fieldsOf, headOf } from "./raw/cuttable.ts";
import { FRAME, RawHttp2 } from "./raw/http2.ts";
import { dial, type Line } from "./raw/line.ts";
import { askHttp2, saying, textOf } from "./raw/refusal.ts";
import { Witness } from "./raw/witness.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

const cases = cuttables.map((one) => [one.name, one] as const);

describe("a body that is not complete in time", () => {
  const witness = startedForAll(() => Witness.start({ MOORING_BODY_TIMEOUT: "200ms" }));

  // All at once: each waits for the time.
  test("over HTTP/2 is refused, and nothing is changed, for any request", async () => {
    const before = await witness.state();
    const refusals = cuttables.map(async (request) => {
      const client = await RawHttp2.open(witness.service.port);
      client.headers(1, fieldsOf(request));
      client.data(1, request.body.first);
      const answer = await askHttp2(witness.service.port, fieldsOf(request), undefined);
      expect(textOf(answer), request.name).toMatch(saying("timeout"));
      await client.until(({ stream, kind }) => stream === 1 && kind === FRAME.headers);
    });
    await Promise.all(refusals);
    expect(await witness.state()).toEqual(before);
  });

  test("over HTTP/1.1 is refused, and nothing is changed, for any request", async () => {
    const before = await witness.state();
    const requests = cuttables.filter(({ http }) => http.includes("1.1"));
    const refusals = requests.map(async (request) => {
      const { first, rest } = request.body;
      const line = await dial(witness.service.port);
      line.socket.write(headOf(request, `content-length: ${first.length + rest.length}`));
      line.socket.write(first);
      await line.until((received) => saying("timeout").test(`${received}`));
    });
    await Promise.all(refusals);
    expect(await witness.state()).toEqual(before);
  });
});

/** A service of one test. */
async function serve(env: Record<string, string>): Promise<TestService> {
  const service = await startService({ env });
  onTestFinished(() => service.stop());
  return service;
}

const PING = "GET /ping HTTP/1.1\r\nhost: a\r\n\r\n";

async function pings(line: Line): Promise<boolean> {
  line.socket.write(PING);
  const answered = line.until((received) => `${received}`.endsWith("pong")).then(() => true);
  return Promise.race([answered, line.closed.then(() => false)]);
}

describe("streams of one connection", () => {
  const unfinished = {
    ":method": "POST",
    ":path": "/mooring.v1.SettingService/SaveSettings",
    "content-type": "application/grpc",
    authorization: TOKEN,
  };

  test("wait beyond the bound, if the client respects SETTINGS_MAX_CONCURRENT_STREAMS", async () => {
    const service = await serve({ MOORING_MAX_STREAMS: "4" });
    const session = connect(`http://127.0.0.1:${service.port}`);
    onTestFinished(() => session.destroy());
    await once(session, "remoteSettings");
    const open = [1, 2, 3, 4].map(() => session.request(unfinished, { endStream: false }));
    const refused = session.request({ ":path": "/ping" });
    refused.setEncoding("utf8");
    let answered = false;
    refused.on("response", () => {
      answered = true;
    });
    await new Promise((resolve) => session.ping(resolve));
    expect(answered).toBe(false);
    open[0]?.end(enveloped(Buffer.alloc(0)));
    expect((await refused.toArray()).join("")).toBe("pong");
  });

  test("beyond an acknowledged bound end the client's connection, and no other", async () => {
    const service = await serve({ MOORING_MAX_STREAMS: "4" });
    const bystander = await dial(service.port);
    const client = await RawHttp2.open(service.port);
    for (const stream of [1, 3, 5, 7, 9])
      client.headers(stream, { ":scheme": "http", ":authority": "a", ...unfinished });
    await client.line.closed;
    expect(await pings(bystander)).toBe(true);
  });
});

describe("pipelined requests of one connection", () => {
  test("are all answered, in any number", async () => {
    const service = await serve({});
    const line = await dial(service.port);
    line.socket.write(PING.repeat(1_000));
    const answers = (received: Buffer): number => `${received}`.split("pong").length - 1;
    expect(answers(await line.until((received) => answers(received) >= 1_000))).toBe(1_000);
  });

  test("are read no further while too many are in progress, and others are served", async () => {
    const service = await serve({});
    const { headers } = await fetch(`http://127.0.0.1:${service.port}/api/public/settings`);
    const seen = headers.get("etag")?.replaceAll('"', "");
    const watch = `GET /api/public/settings/watch HTTP/1.1\r\nhost: a\r\nlast-event-id: ${seen}\r\n\r\n`;
    const line = await dial(service.port);
    let isTaken = false;
    line.socket.write(watch.repeat(200_000), () => {
      isTaken = true;
    });
    await expect.poll(() => service.mooring.gauges().watchers).toBe(32);
    const bystander = await dial(service.port);
    for (let turn = 1; turn <= 100; turn += 1) {
      bystander.socket.write(PING);
      await bystander.until((received) => `${received}`.split("pong").length > turn);
    }
    expect(service.mooring.gauges().watchers).toBe(32);
    expect(isTaken).toBe(false);
  });
});

describe.each([
  ["in total", "MOORING_MAX_CONNECTIONS"],
  ["of one peer", "MOORING_MAX_CONNECTIONS_PER_PEER"],
])("connections %s", (_name, variable) => {
  test.each(["port", "grpcPort"] as const)(
    "beyond the bound are closed at once, and the others stay open (%s)",
    async (port) => {
      const service = await serve({
        [variable]: "3",
        ...(port === "grpcPort" ? { MOORING_GRPC_LISTEN: "127.0.0.1:0" } : {}),
      });
      const lines = [];
      for (let count = 0; count < 3; count += 1) lines.push(await dial(service[port]));
      const extra = await dial(service[port]);
      expect((await extra.closed).length).toBe(0);
      if (port === "port") for (const line of lines) expect(await pings(line)).toBe(true);
      const [first] = lines;
      first?.socket.destroy();
      // The slot is free as soon as the service has detected the close.
      for (;;) {
        const next = await dial(service[port]);
        next.socket.write(port === "port" ? PING : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        const answer = next.until((received) => received.length > 0).then(() => true);
        if (await Promise.race([answer.catch(() => false), next.closed.then(() => false)])) break;
      }
    },
  );
});

const env = {
  MOORING_MAX_VALUE: "1KiB",
  MOORING_MAX_BODY: "64KiB",
  MOORING_MAX_BUFFERED: "128KiB",
};

describe("bytes of incomplete bodies", () => {
  const shared = startedForAll(() => startService({ env }));
  /** Half of the total is 64 KiB, the limit of one peer. */
  const much = Buffer.alloc(40_000, " ");

  // A watch over REST accepts any body.
  const read = cases.filter(([, { transport, does }]) => transport !== "rest" || does !== "stream");

  test.each(read)(
    "beyond the bound are refused, for the peer that holds them: %s",
    async (_n, one) => {
      // A reset ends the token of the others.
      const service = one.does === "reset" ? await serve(env) : shared;
      const holder = await dial(service.port);
      const [save] = cuttables;
      if (save === undefined) throw new Error("the table is empty");
      holder.socket.write(headOf(save, `content-length: ${50_000}`));
      holder.socket.write(much);
      const crowded = (): Promise<string> =>
        askHttp2(service.port, fieldsOf(one), much).then(textOf);
      await untilHolds(async () => saying("crowded").test(await crowded()));
      // Another client is served in between.
      const other = await dial(service.port, "127.0.0.2");
      other.socket.write(headOf(save, `content-length: ${much.length}`));
      other.socket.write(much);
      await other.until((received) => /"code":400/.test(`${received}`));
      // So is the peer, when its own bytes are released.
      holder.socket.destroy();
      await untilHolds(async () => !saying("crowded").test(await crowded()));
    },
  );
});

describe("bytes of incomplete bodies of a principal", () => {
  const part = Buffer.alloc(40_000, " ");
  const small = Buffer.alloc(20_000, " ");
  const saves = cuttables.filter(({ does }) => does === "save");

  test.each(saves.map((one) => [one.name, one] as const))(
    "leave room for other principals, whatever its addresses: %s",
    async (_name, one) => {
      const service = await serve(env);
      const admin = as(service.port);
      onTestFinished(() => admin.close());
      const greedy = await Promise.all(
        ["laptop", "script"].map(() => give(admin, ["settings:write"], [], "greedy")),
      );
      const other = await give(admin, ["settings:write"], [], "other");
      const [save] = saves;
      if (save === undefined) throw new Error("the table is empty");
      const hold = async (from: string, token: string): Promise<Line> => {
        const line = await dial(service.port, from);
        line.socket.write(headOf(save, "content-length: 60000", { authorization: token }));
        line.socket.write(part);
        return line;
      };
      const [first, second] = greedy.map(({ text }) => text);
      for (const from of ["127.0.0.2", "127.0.0.3"]) await hold(from, first ?? "");
      // Its other token has the same share: every further body of the principal is refused.
      const third = await hold("127.0.0.4", second ?? "");
      await third.until((received) => saying("crowded").test(`${received}`));
      const ask = (token: string) =>
        askHttp2(service.port, fieldsOf(one, { authorization: token }), small).then(textOf);
      expect(await ask(other.text)).not.toMatch(saying("crowded"));
    },
  );
});

/** Polls until a condition holds; the test's time limit ends it. */
async function untilHolds(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}
