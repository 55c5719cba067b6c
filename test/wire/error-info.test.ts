// google.rpc.ErrorInfo on every transport: reason, domain and metadata of an error.

import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { beforeEach, describe, expect, test } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { failedPrecondition, invalid, type ServiceError } from "../../src/messages/error.ts";
import { message } from "../../src/messages/message.ts";
import { startedForAll } from "../started.ts";
import { serveRoutes } from "./serve-routes.ts";
import { http1Sender } from "./transport/http.ts";

const LONG = "k".repeat(5_000);
const CUT = `${"k".repeat(1_000)}…`;

interface Case {
  readonly error: ServiceError;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The header of the same name; undefined if it is absent. */
  readonly header: Readonly<Record<string, string>> | undefined;
}

const refused = (key: string): ServiceError =>
  failedPrecondition(message("SETTING_IN_USE", { key }));

const cases: Readonly<Record<string, Case>> = {
  "a parameter": {
    error: refused("site_title"),
    reason: "SETTING_IN_USE",
    metadata: { key: "site_title" },
    header: { key: "site_title" },
  },
  "no parameter": {
    error: failedPrecondition(message("NUL_CHARACTER")),
    reason: "NUL_CHARACTER",
    metadata: {},
    header: undefined,
  },
  "a number": {
    error: failedPrecondition(message("REASON_TOO_LONG", { length: 501, most: 500 })),
    reason: "REASON_TOO_LONG",
    metadata: { length: "501", most: "500" },
    header: { length: "501", most: "500" },
  },
  "a parameter that is not ASCII": {
    error: refused('设置 "ü" 🚢\r\nset-cookie: a=b'),
    reason: "SETTING_IN_USE",
    metadata: { key: '设置 "ü" 🚢\r\nset-cookie: a=b' },
    header: { key: '设置 "ü" 🚢\r\nset-cookie: a=b' },
  },
  "a parameter that is cut within a character": {
    error: refused("half 🚢".slice(0, -1)),
    reason: "SETTING_IN_USE",
    metadata: { key: "half \ufffd" },
    header: { key: "half \ufffd" },
  },
  "a parameter that is too long": {
    error: refused(LONG),
    reason: "SETTING_IN_USE",
    metadata: { key: CUT },
    header: { key: CUT },
  },
  "a parameter that is too long for a header": {
    error: refused("设".repeat(500)),
    reason: "SETTING_IN_USE",
    metadata: { key: "设".repeat(500) },
    header: undefined,
  },
  "a message in a message": {
    error: failedPrecondition(
      message("AND_MORE", { problem: message("TOO_MANY_BYTES", { bytes: 7 }), count: 2 }),
    ),
    reason: "TOO_MANY_BYTES",
    metadata: { bytes: "7" },
    header: { bytes: "7" },
  },
};

/** Violations that exceed the size of trailers. */
const many = invalid(
  Array.from({ length: 1_000 }, (_, at) => ({
    field: `settings[${at}].key`,
    description: message("NAMED_PROBLEM", {
      name: LONG,
      problem: message("KEY_TOO_LONG", { most: 255 }),
    }),
  })) as unknown as Parameters<typeof invalid>[0],
);

const served = startedForAll(() =>
  serveRoutes((router) =>
    router.service(PublicService, {
      getPublicSettings: () => {
        throw thrown;
      },
      async *watchPublicSettings({ afterEtag }) {
        if (afterEtag === "1") yield { revision: 1n };
        throw thrown;
      },
    }),
  ),
);
let thrown: ServiceError | ConnectError;

type Options = { readonly baseUrl: string };

const transports: Readonly<Record<string, (options: Options) => Transport>> = {
  "Connect JSON": (o) =>
    createConnectTransport({ ...o, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect binary": (o) =>
    createConnectTransport({ ...o, httpVersion: "2", useBinaryFormat: true }),
  "Connect GET": (o) => createConnectTransport({ ...o, httpVersion: "1.1", useHttpGet: true }),
  "gRPC-Web": (o) => createGrpcWebTransport({ ...o, httpVersion: "1.1" }),
  "gRPC-Web over HTTP/2": (o) => createGrpcWebTransport({ ...o, httpVersion: "2" }),
  gRPC: (o) => createGrpcTransport(o),
};

const failureOf = (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => expect.unreachable("it has not failed"),
    (error: unknown) => ConnectError.from(error),
  );

/** A unary call, a stream that fails at once, and one that fails after its first message. */
function failures(make: (options: Options) => Transport): Promise<ConnectError[]> {
  const client = createClient(PublicService, make({ baseUrl: `http://127.0.0.1:${served.port}` }));
  return Promise.all([
    failureOf(client.getPublicSettings({})),
    failureOf(readAll(client.watchPublicSettings({}))),
    failureOf(readAll(client.watchPublicSettings({ afterEtag: "1" }))),
  ]);
}

async function readAll(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

describe.each(Object.entries(cases))(
  "an error with %s",
  (_case, { error, reason, metadata, header }) => {
    test.each(Object.entries(transports))("has ErrorInfo over %s", async (_name, make) => {
      thrown = error;
      for (const failure of await failures(make)) {
        expect(failure.code).toBe(Code.FailedPrecondition);
        expect(failure.findDetails(ErrorInfoSchema)).toMatchObject([
          { reason, domain: "mooring", metadata },
        ]);
      }
    });

    test("has ErrorInfo in headers over REST", async () => {
      thrown = error;
      const { headers, json } = await http1Sender(served.port)("/api/public/settings");
      expect(json).toMatchObject({ code: 400 });
      expect(headers["error-reason"]).toBe(reason);
      const text = headers["error-metadata"];
      expect(text).toEqual(
        header === undefined ? undefined : expect.stringMatching(/^[ -~]{1,2048}$/),
      );
      if (header !== undefined) expect(JSON.parse(String(text))).toEqual(header);
      expect(headers).not.toHaveProperty("set-cookie");
    });
  },
);

test.each(Object.entries(transports))(
  "an error with many violations is sent over %s, with as many as trailers can hold",
  async (name, make) => {
    thrown = many;
    for (const failure of await failures(make)) {
      expect(failure.code).toBe(Code.InvalidArgument);
      expect(failure.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "KEY_TOO_LONG" }]);
      const [{ fieldViolations } = expect.unreachable("no violations")] =
        failure.findDetails(BadRequestSchema);
      expect(fieldViolations[0]).toMatchObject({
        field: "settings[0].key",
        reason: "KEY_TOO_LONG",
      });
      expect(fieldViolations.length).toBe(name === "gRPC" ? 1 : 1_000);
    }
  },
);

describe("an error of a handler", () => {
  const refusal = new ConnectError(
    "not: 100 % of it",
    Code.FailedPrecondition,
    { "x-hint": "look elsewhere", "x-bytes-bin": "AAEC", "retry-after": "7" },
    [{ desc: BadRequestSchema, value: { fieldViolations: [{ field: "key" }] } }],
  );
  beforeEach(() => {
    thrown = refusal;
  });

  test.each(Object.entries(transports))(
    "keeps its metadata and details over %s",
    async (_, make) => {
      for (const failure of await failures(make)) {
        expect(failure).toMatchObject({
          code: Code.FailedPrecondition,
          rawMessage: "not: 100 % of it",
        });
        expect(failure.metadata.get("x-hint")).toBe("look elsewhere");
        expect(failure.metadata.get("x-bytes-bin")).toBe("AAEC");
        expect(failure.findDetails(BadRequestSchema)).toMatchObject([
          { fieldViolations: [{ field: "key" }] },
        ]);
      }
    },
  );

  test("has a well-formed message over every transport, also if it ends within a character", async () => {
    thrown = new ConnectError("half \ud83d", Code.FailedPrecondition);
    const all = await Promise.all(Object.values(transports).map(failures));
    expect(all.flat().map(({ rawMessage }) => rawMessage)).toEqual(Array(18).fill("half \ufffd"));
    const { text } = await http1Sender(served.port)("/api/public/settings");
    expect(text).toContain("half \ufffd");
  });

  test("has Retry-After over REST", async () => {
    const { headers, json } = await http1Sender(served.port)("/api/public/settings");
    expect(headers["retry-after"]).toBe("7");
    expect(json).toMatchObject({ code: 400, message: "not: 100 % of it" });
  });
});
