import { once } from "node:events";
import { connect } from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import {
  Client,
  type ClientOptions,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { Health, HealthCheckResponse_ServingStatus } from "../../gen/health/v1/health_pb.js";
import { startedForAll } from "../started.ts";
import { startService, TOKEN } from "./service.ts";

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus;

const service = startedForAll(startService);

/** Opens a client that is closed when the test ends. */
function openClient(options: ClientOptions = {}, { port } = service): Client {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), options);
  onTestFinished(() => client.close());
  return client;
}

function admin(): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", TOKEN);
  return metadata;
}

/** One call; rejects with the ServiceError. */
function call<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<NoInfer<I>>,
  deadline?: number,
): Promise<MessageShape<O>> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      create(method.input, request),
      admin(),
      deadline === undefined ? {} : { deadline: Date.now() + deadline },
      (error, reply) => (reply === undefined ? reject(error) : resolve(reply)),
    );
  });
}

function watch<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<NoInfer<I>>,
) {
  const stream = client.makeServerStreamRequest(
    `/${method.parent.typeName}/${method.name}`,
    (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
    (bytes: Buffer) => fromBinary(method.output, bytes),
    create(method.input, request),
  );
  const iterator: AsyncIterator<MessageShape<O>> = stream[Symbol.asyncIterator]();
  return { stream, next: async () => (await iterator.next()).value as MessageShape<O> | undefined };
}

const failureOf = (promise: Promise<unknown>): Promise<ServiceError> =>
  promise.then(
    () => {
      throw new Error("the call has succeeded");
    },
    (error: ServiceError) => error,
  );

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

describe("a request outside the contract", () => {
  test("an unknown method or service is UNIMPLEMENTED", async () => {
    for (const path of ["/mooring.v1.PublicService/Nope", "/nope.v1.Nope/Ping", "/"])
      expect((await failureOf(raw(path, Buffer.alloc(0)))).code, path).toBe(status.UNIMPLEMENTED);
  });

  const raw = (path: string, bytes: Buffer): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const same = (it: Buffer): Buffer => it;
      openClient().makeUnaryRequest(path, same, same, bytes, admin(), (error, reply) =>
        reply === undefined ? reject(error) : resolve(reply),
      );
    });
});

describe("health", () => {
  const names = [
    "",
    "mooring.v1.PublicService",
    "mooring.v1.DriverService",
    "mooring.v1.SettingService",
  ];

  test("Check returns SERVING for the whole and each service, without a token", async () => {
    for (const name of names) {
      const reply = await call(openClient(), Health.method.check, { service: name });
      expect(reply.status, name).toBe(SERVING);
    }
    const error = await failureOf(call(openClient(), Health.method.check, { service: "nope" }));
    expect(error.code).toBe(status.NOT_FOUND);
  });

  test("List returns SERVING for all at once", async () => {
    const { statuses } = await call(openClient(), Health.method.list, {});
    expect(statuses).toMatchObject(
      Object.fromEntries(names.map((name) => [name, { status: SERVING }])),
    );
  });

  test("Watch sends SERVING, and NOT_SERVING when the service stops", async () => {
    const stopping = await startService();
    const { next } = watch(openClient({}, stopping), Health.method.watch, {});
    expect((await next())?.status).toBe(SERVING);
    const stopped = stopping.stop();
    expect((await next())?.status).toBe(NOT_SERVING);
    await stopped;
  });

  test("Watch of an unknown service sends SERVICE_UNKNOWN and stays open", async () => {
    const { next, stream } = watch(openClient(), Health.method.watch, { service: "nope" });
    expect((await next())?.status).toBe(SERVICE_UNKNOWN);
    stream.on("error", () => {});
    stream.cancel();
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
