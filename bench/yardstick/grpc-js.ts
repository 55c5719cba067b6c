import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";

/** Serves one method with grpc-js, which neither decodes nor encodes its messages. */
export function serveMethod(
  port: number,
  path: string,
  call: handleUnaryCall<Buffer, Buffer>,
): void {
  const same = (bytes: Buffer) => bytes;
  const method = {
    path,
    ...({ requestStream: false, responseStream: false } as const),
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  const server = new Server();
  server.addService({ call: method }, { call });
  server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) => {
    if (error !== null) throw error;
  });
}
