import { once } from "node:events";
import { connect } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Client, credentials, status } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { Health } from "../../gen/health/v1/health_pb.js";
import { startedForAll } from "../started.ts";
import { startService } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { invoke, read, type Transport } from "./transport/transport.ts";

const service = startedForAll(startService);
const transport = startedForAll(() => grpcTransport("gRPC", service.port));

/** Opens a client that is closed when the test ends. */
function openClient(): Client {
  const client = new Client(`127.0.0.1:${service.port}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  return client;
}

describe("limits", () => {
  test("any number of keepalive pings is answered, without a call in progress", async () => {
    const session = connect(`http://127.0.0.1:${service.port}`);
    onTestFinished(() => session.destroy());
    await once(session, "remoteSettings");
    let goaway: number | undefined;
    session.on("goaway", (code) => {
      goaway = code;
    });
    for (let count = 0; count < 200; count += 1)
      await new Promise<void>((resolve, reject) => {
        session.ping((error) => (error === null ? resolve() : reject(error)));
      });
    expect(goaway).toBeUndefined();
    expect(session.closed).toBe(false);
  });
});

test("an unknown method or service is UNIMPLEMENTED", async () => {
  const same = (it: Buffer): Buffer => it;
  for (const path of ["/mooring.v1.PublicService/Nope", "/nope.v1.Nope/Ping", "/"]) {
    const code = await new Promise((resolve) => {
      openClient().makeUnaryRequest(path, same, same, Buffer.alloc(0), (error) =>
        resolve(error?.code),
      );
    });
    expect(code, path).toBe(status.UNIMPLEMENTED);
  }
});

describe("health", () => {
  const { check, list, watch } = Health.method;
  const SERVING = { status: "SERVING" };
  const names = [
    "",
    "mooring.v1.PublicService",
    "mooring.v1.DriverService",
    "mooring.v1.SettingService",
  ];
  const watched = (of: Transport, name: string) =>
    of.watch(watch, create(watch.input, { service: name }), {})[Symbol.asyncIterator]();

  test("Check returns SERVING for the whole and each service, without a token", async () => {
    for (const name of names)
      expect(await read(transport, check, { service: name }, {}), name).toEqual(SERVING);
    expect(await invoke(transport, check, { service: "nope" }, {})).toMatchObject({
      kind: "failure",
      code: status.NOT_FOUND,
    });
  });

  test("List returns SERVING for all at once", async () => {
    expect(await read(transport, list)).toMatchObject({
      statuses: Object.fromEntries(names.map((name) => [name, SERVING])),
    });
  });

  test("Watch sends SERVING, and NOT_SERVING when the service stops", async () => {
    const stopping = await startService();
    const leaving = grpcTransport("gRPC", stopping.port);
    onTestFinished(leaving.close);
    const events = watched(leaving, "");
    expect((await events.next()).value).toEqual(SERVING);
    const stopped = stopping.stop();
    expect((await events.next()).value).toEqual({ status: "NOT_SERVING" });
    await stopped;
  });

  test("Watch of an unknown service sends SERVICE_UNKNOWN and stays open", async () => {
    const events = watched(transport, "nope");
    expect((await events.next()).value).toEqual({ status: "SERVICE_UNKNOWN" });
    await events.return?.();
  });
});

describe.each(["v1", "v1alpha"])("reflection %s", (version) => {
  const ask = async (
    ...questions: readonly ServerReflectionRequest["messageRequest"][]
  ): Promise<ServerReflectionResponse[]> => {
    const stream = openClient().makeBidiStreamRequest(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      (message: ServerReflectionRequest) =>
        Buffer.from(toBinary(ServerReflectionRequestSchema, message)),
      (bytes: Buffer) => fromBinary(ServerReflectionResponseSchema, bytes),
    );
    for (const messageRequest of questions)
      stream.write(create(ServerReflectionRequestSchema, { messageRequest }));
    stream.end();
    const answers: ServerReflectionResponse[] = [];
    for await (const answer of stream) answers.push(answer as ServerReflectionResponse);
    return answers;
  };

  test("lists the services", async () => {
    const [answer] = await ask({ case: "listServices", value: "" });
    const { messageResponse } = answer ?? {};
    if (messageResponse?.case !== "listServicesResponse") throw new Error("no list");
    expect(messageResponse.value.service.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "mooring.v1.PublicService",
        "mooring.v1.DriverService",
        "mooring.v1.SettingService",
      ]),
    );
  });

  test("returns the files of a symbol, in one stream of several requests", async () => {
    const answers = await ask(
      { case: "fileContainingSymbol", value: "mooring.v1.SettingService" },
      { case: "fileContainingSymbol", value: "mooring.v1.SettingService.SaveSettings" },
      { case: "fileByFilename", value: "mooring/v1/driver.proto" },
    );
    expect(answers).toHaveLength(3);
    for (const { messageResponse } of answers) {
      if (messageResponse.case !== "fileDescriptorResponse") throw new Error("no file");
      const [first] = messageResponse.value.fileDescriptorProto;
      const file = fromBinary(FileDescriptorProtoSchema, first ?? new Uint8Array());
      expect(file.package).toBe("mooring.v1");
    }
  });

  test("returns NOT_FOUND for unknown symbols", async () => {
    const [answer] = await ask({ case: "fileContainingSymbol", value: "nope.Nope" });
    expect(answer?.messageResponse).toMatchObject({
      case: "errorResponse",
      value: { errorCode: status.NOT_FOUND },
    });
  });
});
