import { callGrpc } from "./grpc-call.ts";

/** Methods of etcd's key-value service (etcd API reference, v3). */
export const ETCD_RANGE = "/etcdserverpb.KV/Range";
export const ETCD_PUT = "/etcdserverpb.KV/Put";

/** RangeRequest { key = 1, serializable = 7 }: a read that asks no other member. */
export function serializableRange(key: string): Buffer {
  return Buffer.concat([textField(1, key), Buffer.of((7 << 3) | 0, 1)]);
}

/** PutRequest { key = 1, value = 2 }. */
export function put(key: string, value: string): Buffer {
  return Buffer.concat([textField(1, key), textField(2, value)]);
}

/** Waits for the single member's election too: a put goes through only after it. */
export async function fillEtcd(port: number, key: string, value: string): Promise<void> {
  await callGrpc({ port, path: ETCD_PUT, body: put(key, value) });
}

/** A length-delimited protobuf field. */
function textField(number: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 128; left = Math.floor(left / 128)) length.push((left % 128) + 128);
  length.push(left);
  return Buffer.concat([Buffer.of((number << 3) | 2, ...length), bytes]);
}
