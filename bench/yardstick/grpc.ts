// Yardstick: grpc-js with one method that answers with an encoded message. Arguments: port, file.
import { readFileSync } from "node:fs";
import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import type { FixedMessage } from "../yardstick.ts";

const [port = "0", file = ""] = process.argv.slice(2);
const { path, body } = JSON.parse(readFileSync(file, "utf8")) as FixedMessage;
const message = Buffer.from(body, "base64");
const same = (bytes: Buffer) => bytes;

const server = new Server();
const method = {
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
} as const;
const call: handleUnaryCall<Buffer, Buffer> = (_call, answer) => answer(null, message);
server.addService({ call: method }, { call });
server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
});
