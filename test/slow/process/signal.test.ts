import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import { create, type DescMethodServerStreaming } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { Health } from "../../../gen/health/v1/health_pb.js";
import { PublicService } from "../../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { runMooring, startedMooring, TOKEN, testFolder } from "../../process/mooring.ts";
import { patientAria2 } from "../../process/patient-aria2.ts";
import { grpcTransport } from "../../wire/transport/grpc.ts";
import { http1Sender } from "../../wire/transport/http.ts";
import { restTransport } from "../../wire/transport/rest.ts";
import type { Transport } from "../../wire/transport/transport.ts";

const headers = { authorization: TOKEN };
const { setAria2, getSetting } = SettingService.method;
const { watchPublicSettings } = PublicService.method;

function opened(transport: Transport): Transport {
  onTestFinished(transport.close);
  return transport;
}

/** The first message of a stream, and the following ones. */
async function follow(transport: Transport, method: DescMethodServerStreaming, request = {}) {
  const iterator = transport
    .watch(method, create(method.input, request), {})
    [Symbol.asyncIterator]();
  const first = await iterator.next();
  return { first: first.value as object, next: () => iterator.next() };
}

describe("SIGTERM", () => {
  test("finishes calls in progress, accepts no new ones, and ends with 0", async () => {
    const aria2 = await patientAria2();
    const env = { MOORING_ADMIN_TOKEN: TOKEN, MOORING_SHUTDOWN_GRACE: "60s" };
    const mooring = await startedMooring({ env });
    const rest = opened(restTransport(mooring.port()));
    const grpc = opened(grpcTransport("gRPC", mooring.port()));
    const watcher = opened(grpcTransport("gRPC", mooring.port()));
    const health = await follow(watcher, Health.method.watch);
    expect(health.first).toMatchObject({ status: "SERVING" });
    const stream = await follow(watcher, watchPublicSettings);
    const events = await follow(rest, watchPublicSettings);
    const session = connectHttp2(`http://127.0.0.1:${mooring.port()}`);
    onTestFinished(() => session.destroy());
    await once(session, "remoteSettings");
    const goaway = once(session, "goaway");
    const idle = connect(mooring.port(), "127.0.0.1");
    idle.write("GET /ping HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(idle, "data");
    const dropped = once(idle, "close");

    const request = create(setAria2.input, { uri: aria2.uri, secret: "" });
    const calls = [rest, grpc].map((transport) => transport.call(setAria2, request, { headers }));
    await aria2.arrived(2);
    const streamEnd = stream.next().catch((error: unknown) => error);
    const eventsEnd = events.next().catch((error: unknown) => error);
    mooring.kill("SIGTERM");

    expect(await health.next()).toMatchObject({ value: { status: "NOT_SERVING" } });
    expect(await streamEnd).toMatchObject({ failure: { code: Code.Unavailable } });
    expect(await eventsEnd).toMatchObject({ failure: { code: 503 } });
    expect((await goaway)[0]).toBe(constants.NGHTTP2_NO_ERROR);
    await dropped;
    await expect(http1Sender(mooring.port())("/ping")).rejects.toThrow("ECONNREFUSED");

    aria2.answer();
    for (const outcome of await Promise.all(calls))
      expect(outcome).toMatchObject({ kind: "reply", message: { version: "1.99.0" } });
    expect(await mooring.ended).toBe(0);
    expect(mooring.log().map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(["serving", "stopping", "stopped"]),
    );
    expect(mooring.stderr()).toBe("");
  });

  test("and their saves are there at the next start", async () => {
    const aria2 = await patientAria2();
    const folder = await testFolder();
    const env = { MOORING_ADMIN_TOKEN: TOKEN };
    const mooring = await startedMooring({ folder, env });
    const transport = opened(grpcTransport("gRPC", mooring.port()));
    const request = create(setAria2.input, { uri: aria2.uri, secret: "kept" });
    const call = transport.call(setAria2, request, { headers });
    await aria2.arrived(1);
    mooring.kill("SIGTERM");
    await mooring.logged(({ msg }) => msg === "stopping");
    aria2.answer();
    expect(await call).toMatchObject({ kind: "reply" });
    expect(await mooring.ended).toBe(0);
    const next = await startedMooring({ folder, env });
    const again = opened(grpcTransport("gRPC", next.port()));
    const key = create(getSetting.input, { key: "aria2_secret" });
    expect(await again.call(getSetting, key, { headers })).toMatchObject({
      message: { setting: { value: "kept" } },
    });
  });

  test("ends with 0 without calls in progress, also by SIGINT", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const mooring = await startedMooring();
      mooring.kill(signal);
      expect(await mooring.ended).toBe(0);
    }
  });

  test("while workers start ends serving ones in order, and the others at once", async () => {
    const env = { MOORING_WORKERS: "3" };
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const mooring = await startedMooring({ env });
      const workersThat = (logMessage: string) =>
        mooring.log().flatMap(({ msg, worker }) => (msg === logMessage ? [Number(worker)] : []));
      mooring.kill(signal);
      expect(await mooring.ended).toBe(0);
      expect(workersThat("serving").length).toBeGreaterThan(0);
      expect(workersThat("stopped").sort()).toEqual(workersThat("serving").sort());
    }
  });

  test("ends workers that wait for a database at once", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    onTestFinished(() => void silent.close());
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const env = { MOORING_WORKERS: "2", MOORING_DATABASE_URL: `postgres://u@127.0.0.1:${port}/d` };
    const mooring = runMooring({ env });
    await once(silent, "connection");
    await mooring.stop();
    expect(mooring.stderr()).toBe("");
  });

  test("cuts off calls after the grace time", async () => {
    const aria2 = await patientAria2();
    const env = { MOORING_ADMIN_TOKEN: TOKEN, MOORING_SHUTDOWN_GRACE: "200ms" };
    const mooring = await startedMooring({ env });
    const request = create(setAria2.input, { uri: aria2.uri, secret: "" });
    const outcomes = [restTransport, grpcTransport.bind(undefined, "gRPC")].map((open) =>
      opened(open(mooring.port()))
        .call(setAria2, request, { headers })
        .catch((error: unknown) => ({ kind: "cut", error })),
    );
    await aria2.arrived(2);
    await mooring.stop();
    for (const { kind } of await Promise.all(outcomes)) expect(kind).not.toBe("reply");
  });

  test("a second signal ends it at once", async () => {
    const aria2 = await patientAria2();
    const env = { MOORING_ADMIN_TOKEN: TOKEN, MOORING_SHUTDOWN_GRACE: "60s" };
    const mooring = await startedMooring({ env });
    const transport = opened(grpcTransport("gRPC", mooring.port()));
    const request = create(setAria2.input, { uri: aria2.uri, secret: "" });
    const call = transport.call(setAria2, request, { headers });
    await aria2.arrived(1);
    mooring.kill("SIGTERM");
    await mooring.logged(({ msg }) => msg === "stopping");
    mooring.kill("SIGTERM");
    expect(await mooring.ended).toBe(1);
    expect(await call).toMatchObject({ kind: "failure" });
  });
});
