import { Code } from "@connectrpc/connect";
import { isObject } from "../is-object.ts";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { type Address, type AddressRule, parseAddress } from "./address.ts";
import {
  type ClientOptions,
  type Connection,
  DEFAULT_TIMEOUT_MS,
  networkOptions,
  readVersion,
} from "./connection.ts";
import { converse, exchange } from "./exchange.ts";
import { failure, type ReplyHead, type Target, unexpectedStatus, withDeadline } from "./failure.ts";

/** Connection data of an aria2. */
interface Aria2Call {
  /**
   * Address of its JSON-RPC interface: http, https, ws or wss, usually with the path `/jsonrpc`. A
   * user name and password in it are sent as HTTP Basic authentication (`--rpc-user`).
   */
  readonly uri: string;
  /** Its `--rpc-secret`; empty: none. At most 1024 characters. */
  readonly secret: string;
  /** Cancels the call: CANCELED. */
  readonly signal?: AbortSignal;
}

/** Client of aria2. */
export interface Aria2Client {
  /**
   * The version, such as `1.36.0`, by `aria2.getVersion`
   * (https://aria2.github.io/manual/en/html/aria2c.html#aria2.getVersion).
   *
   * Throws a ServiceError with the failed step and advice: INVALID_ARGUMENT for an invalid address
   * or secret, FAILED_PRECONDITION when aria2 rejects the secret or the user name,
   * DEADLINE_EXCEEDED after the time limit, CANCELED by the signal, and UNAVAILABLE otherwise.
   * Neither the message nor the cause contains the secret, the password or parts of the reply.
   */
  getVersion(call: Aria2Call): Promise<{ version: string }>;
}

const ADDRESS: AddressRule = {
  field: "uri",
  schemes: ["http:", "https:", "ws:", "wss:"],
  example: "http://127.0.0.1:6800/jsonrpc",
};
const MAX_SECRET = 1024;

/** Creates a client without state: each call has its own connection. */
export function createAria2Client(options: ClientOptions = {}): Aria2Client {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const network = networkOptions(options);
  return {
    async getVersion({ uri, secret, signal: caller }) {
      const address = parseAddress(uri, ADDRESS);
      checkSecret(secret);
      const target = aria2Target(address, secret, timeoutMs);
      const request = rpcRequest("aria2.getVersion", secret === "" ? [] : [`token:${secret}`]);
      const reply = await withDeadline(timeoutMs, caller, (signal) =>
        ask(address, request, { target, signal, network }),
      );
      return { version: versionOf(reply, target) };
    },
  };
}

function checkSecret(secret: string): void {
  if (secret.length > MAX_SECRET) {
    const description = message("ARIA2_SECRET_TOO_LONG", { field: "secret", most: MAX_SECRET });
    throw invalid([{ field: "secret", description }]);
  }
}

function aria2Target(address: Address, secret: string, timeoutMs: number): Target {
  return {
    program: "aria2",
    shown: address.shown,
    reachable: message("ARIA2_REACHABLE"),
    recognizable: message("ARIA2_RECOGNIZABLE"),
    timeoutMs,
    secrets: [secret, address.password],
  };
}

async function ask(address: Address, request: string, connection: Connection): Promise<RpcMessage> {
  const { url, user, password } = address;
  const { target } = connection;
  const auth = user === "" && password === "" ? {} : { auth: `${user}:${password}` };
  if (url.protocol === "ws:" || url.protocol === "wss:") {
    const accept = (text: string) => answer(text, target);
    const refuse = (reply: ReplyHead) => statusFailure(reply, target);
    return await converse({ url, message: request, accept, refuse, ...auth }, connection);
  }
  const headers = { "content-type": "application/json" };
  const reply = await exchange(
    { method: "POST", url, headers, body: request, ...auth },
    connection,
  );
  // aria2 sends its own errors with status 400 and 500, so the body is read before the status.
  const message = readRpcMessage(reply.body);
  if (message !== undefined && message.kind !== "notification") return message;
  throw reply.status === 200 ? notJsonRpc(target) : statusFailure(reply, target);
}

// aria2 also sends notifications about downloads to WebSocket clients; they are ignored.
function answer(text: string, target: Target): RpcMessage | undefined {
  const message = readRpcMessage(text);
  if (message === undefined) throw notJsonRpc(target);
  return message.kind === "notification" ? undefined : message;
}

function versionOf(reply: RpcMessage, target: Target): string {
  if (reply.kind === "error") throw rpcFailure(reply, target);
  const result = reply.kind === "result" ? asObject(reply.result) : undefined;
  const { version: named } = result ?? {};
  const version = readVersion(named);
  if (version === undefined) {
    const what = message("ARIA2_NO_VERSION");
    throw failure(target, Code.Unavailable, what, target.recognizable);
  }
  return version;
}

function rpcFailure(error: { code: number; message: string }, target: Target) {
  if (error.message === "Unauthorized") {
    const advice = message("ARIA2_GIVE_SECRET");
    return failure(target, Code.FailedPrecondition, message("ARIA2_SECRET_WRONG"), advice);
  }
  const what = message("ARIA2_ERROR", { code: error.code });
  return failure(target, Code.Unavailable, what, target.recognizable);
}

function statusFailure(reply: ReplyHead, target: Target) {
  if (reply.status !== 401) return unexpectedStatus(target, reply);
  const advice = message("ARIA2_GIVE_USER");
  const what = message("ARIA2_USER_REFUSED");
  return failure(target, Code.FailedPrecondition, what, advice);
}

function notJsonRpc(target: Target) {
  const what = message("ARIA2_NOT_JSON_RPC");
  return failure(target, Code.Unavailable, what, target.recognizable);
}

/** Message of a JSON-RPC 2.0 server. https://www.jsonrpc.org/specification */
type RpcMessage =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  | { readonly kind: "notification" };

// Each call has a connection of its own, so that no other call can have this id.
const ID = "mooring";

/** The text of a JSON-RPC 2.0 request. */
function rpcRequest(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: "2.0", id: ID, method, params });
}

/**
 * Reads the reply to `rpcRequest`; undefined when it is not JSON-RPC 2.0 or answers another
 * request. An error with a null id counts: the server could not read the request's id.
 */
function readRpcMessage(text: string): RpcMessage | undefined {
  const { jsonrpc, id, method, error, result } = parseObject(text) ?? {};
  if (jsonrpc !== "2.0") return undefined;
  if (typeof method === "string") return { kind: "notification" };
  const failed = asObject(error);
  if (failed !== undefined && (id === ID || id === null)) return rpcError(failed);
  return id === ID && result !== undefined ? { kind: "result", result } : undefined;
}

function rpcError({ code, message }: Record<string, unknown>): RpcMessage {
  return {
    kind: "error",
    code: typeof code === "number" ? code : 0,
    message: typeof message === "string" ? message : "",
  };
}

/** Members of a JSON object; undefined for other values. */
function asObject(value: unknown): Record<string, unknown> | undefined {
  return isObject(value) ? value : undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}
