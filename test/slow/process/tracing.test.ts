import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { SOURCE, startedMooring, TOKEN } from "../../process/mooring.ts";

interface Span {
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { key: string; value: { stringValue?: string } }[];
}

interface Sent {
  readonly resourceSpans: readonly { scopeSpans: readonly { spans: readonly Span[] }[] }[];
}

/** A collector that stores received spans. */
async function startCollector() {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    json(request).then((body) => {
      for (const { scopeSpans } of (body as Sent).resourceSpans)
        spans.push(...scopeSpans.flatMap((scope) => scope.spans));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  return { spans, port: (server.address() as AddressInfo).port };
}

const trace = (digit: string) => `00-${digit.repeat(32)}-${"b".repeat(16)}-01`;

test("each call is a span whose parent is the client's, on every protocol", async () => {
  const collector = await startCollector();
  const mooring = await startedMooring({
    env: {
      MOORING_ADMIN_TOKEN: TOKEN,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      OTEL_SERVICE_NAME: "settings",
    },
  });
  const baseUrl = `http://127.0.0.1:${mooring.port()}`;
  const headers = (digit: string) => ({ authorization: TOKEN, traceparent: trace(digit) });
  await fetch(`${baseUrl}/api/admin/setting/get?key=nope`, { headers: headers("1") });
  const grpc = createClient(SettingService, createGrpcTransport({ baseUrl }));
  await grpc.getSetting({ key: "site_title" }, { headers: headers("2") });
  const connect = createConnectTransport({ baseUrl, httpVersion: "1.1" });
  await createClient(SettingService, connect).listSettings({}, { headers: headers("3") });
  await fetch(`${baseUrl}/ping`);
  await mooring.stop();

  const found = collector.spans.map(({ traceId, parentSpanId, name, attributes }) => ({
    traceId,
    parentSpanId,
    name,
    ...Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
  }));
  const parentSpanId = "b".repeat(16);
  expect(found).toMatchObject([
    {
      traceId: "1".repeat(32),
      parentSpanId,
      name: "mooring.v1.SettingService/GetSetting",
      "mooring.transport": "rest",
      "rpc.response.status_code": "NOT_FOUND",
    },
    {
      traceId: "2".repeat(32),
      parentSpanId,
      "rpc.system.name": "grpc",
      "mooring.transport": "grpc",
      "rpc.response.status_code": "OK",
    },
    { traceId: "3".repeat(32), parentSpanId, "mooring.transport": "connect" },
    { name: "mooring.v1.PublicService/Ping" },
  ]);
  expect(found[3]?.parentSpanId ?? "").toBe("");
  expect(JSON.stringify(collector.spans)).not.toContain(TOKEN);
});

test("a collector that does not answer delays no call", async () => {
  const mooring = await startedMooring({
    env: { MOORING_ADMIN_TOKEN: TOKEN, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" },
  });
  expect((await fetch(`http://127.0.0.1:${mooring.port()}/ping`)).status).toBe(200);
  await mooring.stop();
});

test.each([
  ["without a collector no part of it is loaded", {}, false],
  ["with one it is", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }, true],
])("%s", async (_name, otel, loaded) => {
  const watch = `import { registerHooks } from "node:module";
    registerHooks({ resolve: (name, context, next) => {
      if (name.startsWith("@opentelemetry/sdk")) process.stderr.write("loads " + name + "\\n");
      return next(name, context);
    } });`;
  const mooring = await startedMooring({
    program: SOURCE,
    env: {
      MOORING_ADMIN_TOKEN: TOKEN,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(watch)}`,
      ...otel,
    },
  });
  expect(mooring.stderr().includes("loads @opentelemetry/sdk")).toBe(loaded);
});
