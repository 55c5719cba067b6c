import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type DescMethodUnary, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";

/** One unary call to 127.0.0.1, as bytes. */
export interface GrpcRequest {
  readonly port: number;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly body: Uint8Array;
  readonly token?: string;
}

/** Makes one call over a connection of its own. Rejects with the status when it is not OK. */
export async function callGrpc({ port, path, body, token }: GrpcRequest): Promise<Buffer> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
  const metadata = new Metadata();
  if (token !== undefined) metadata.set("authorization", token);
  const bytes = (message: Buffer) => message;
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, bytes, bytes, Buffer.from(body), metadata, (error, reply) => {
        if (error !== null) reject(error);
        else resolve(reply ?? Buffer.alloc(0));
      });
    });
  } finally {
    client.close();
  }
}

/** `/package.Service/Method` of a method, as gRPC and Connect spell it. */
export function pathOf(method: {
  readonly parent: { readonly typeName: string };
  readonly name: string;
}): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** The same with messages. */
export async function callMethod<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  message: MessageShape<I>,
  { port, token }: { readonly port: number; readonly token: string },
): Promise<MessageShape<O>> {
  const body = toBinary(method.input, message);
  return fromBinary(method.output, await callGrpc({ port, path: pathOf(method), body, token }));
}

/** A message as gRPC frames it: no compression, its length, itself. */
export function framed(body: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 1);
  frame.set(body, 5);
  return frame;
}
