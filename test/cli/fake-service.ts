import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";

/** A failure in the form that a service of the contract sends. */
export function failure(code: number, details: string, requestId: string | undefined = "id-1") {
  const metadata = new Metadata();
  if (requestId !== undefined) metadata.set("x-request-id", requestId);
  return Object.assign(new Error(details), { code, details, metadata });
}

export type FakeUnary = (request: Message) => Message | Error | undefined;
export type FakeStream = (call: ServerWritableStream<Message, Message>) => void;

/** Replies of a fake service, for cases that a real service cannot produce on demand. */
export interface FakeMethods {
  readonly getSetting?: FakeUnary;
  readonly watchSettings?: FakeStream;
}

/** A gRPC server on a loopback port. A method that returns undefined never answers. */
export async function startFake(
  methods: FakeMethods,
  credentials = ServerCredentials.createInsecure(),
): Promise<{ readonly address: string; readonly env: Record<string, string>; stop(): void }> {
  const server = new Server();
  const names = Object.keys(methods) as (keyof FakeMethods)[];
  const definitions = names.map((name) => [name, definitionOf(SettingService.method[name])]);
  const { getSetting, watchSettings } = methods;
  const service = Object.fromEntries(definitions);
  const implementation = {
    ...(watchSettings === undefined ? {} : { watchSettings }),
    ...(getSetting === undefined ? {} : { getSetting: answer(getSetting) }),
  };
  // Without replies it is a server without the contract.
  if (names.length > 0) server.addService(service, implementation);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  const address = `127.0.0.1:${port}`;
  return {
    address,
    env: { MOORING_ADDRESS: address, MOORING_TOKEN: "any-token" },
    stop: () => server.forceShutdown(),
  };
}

function answer(reply: FakeUnary) {
  return (call: ServerUnaryCall<Message, Message>, done: sendUnaryData<Message>) => {
    const result = reply(call.request);
    if (result === undefined) return;
    if (result instanceof Error) done(result as ReturnType<typeof failure>);
    else done(null, result);
  };
}

function definitionOf(desc: DescMethod) {
  return {
    path: `/${desc.parent.typeName}/${desc.name}`,
    requestStream: false,
    responseStream: desc.methodKind === "server_streaming",
    requestSerialize: (message: Message) => Buffer.from(toBinary(desc.input, message)),
    requestDeserialize: (bytes: Buffer) => fromBinary(desc.input, bytes),
    responseSerialize: (message: Message) => Buffer.from(toBinary(desc.output, message)),
    responseDeserialize: (bytes: Buffer) => fromBinary(desc.output, bytes),
  };
}
