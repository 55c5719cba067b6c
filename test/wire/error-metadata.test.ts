import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { startedForAll } from "../started.ts";
import { serveRoutes } from "./serve-routes.ts";
import { http1Sender } from "./transport/http.ts";

const served = startedForAll(() =>
  serveRoutes((router) =>
    router.service(PublicService, {
      getPublicSettings: () => {
        throw refusal();
      },
      async *watchPublicSettings({ afterRevision }) {
        if (afterRevision === 1n) yield { revision: 1n };
        throw refusal();
      },
    }),
  ),
);

const refusal = (): ConnectError =>
  new ConnectError(
    "not: 100 % of it",
    Code.FailedPrecondition,
    { "x-hint": "look elsewhere", "x-bytes-bin": "AAEC", "retry-after": "7" },
    [{ desc: BadRequestSchema, value: { fieldViolations: [{ field: "key" }] } }],
  );

type Options = { readonly baseUrl: string };

const transports: readonly (readonly [string, (options: Options) => Transport])[] = [
  [
    "Connect JSON",
    (o) => createConnectTransport({ ...o, httpVersion: "1.1", useBinaryFormat: false }),
  ],
  ["Connect proto", (o) => createConnectTransport({ ...o, httpVersion: "2" })],
  ["gRPC-Web", (o) => createGrpcWebTransport({ ...o, httpVersion: "1.1" })],
  ["gRPC-Web over HTTP/2", (o) => createGrpcWebTransport({ ...o, httpVersion: "2" })],
  ["gRPC", (o) => createGrpcTransport(o)],
];

test.each(transports)("an error over %s keeps its metadata and details", async (_name, make) => {
  const client = createClient(PublicService, make({ baseUrl: `http://127.0.0.1:${served.port}` }));
  const calls = [
    () => client.getPublicSettings({}),
    () => readAll(client.watchPublicSettings({})),
    () => readAll(client.watchPublicSettings({ afterRevision: 1n })),
  ];
  for (const call of calls) {
    const error = await call().then(
      () => expect.unreachable("it has not failed"),
      (thrown: unknown) => ConnectError.from(thrown),
    );
    expect(error).toMatchObject({ code: Code.FailedPrecondition, rawMessage: "not: 100 % of it" });
    expect(error.metadata.get("x-hint")).toBe("look elsewhere");
    expect(error.metadata.get("x-bytes-bin")).toBe("AAEC");
    expect(error.findDetails(BadRequestSchema)).toMatchObject([
      { fieldViolations: [{ field: "key" }] },
    ]);
  }
});

test("an error over REST has Retry-After", async () => {
  const { headers, json } = await http1Sender(served.port)("/api/public/settings");
  expect(headers["retry-after"]).toBe("7");
  expect(json).toMatchObject({ code: 400, message: "not: 100 % of it" });
});

async function readAll(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}
