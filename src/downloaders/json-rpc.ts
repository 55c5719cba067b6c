/** Message of a JSON-RPC 2.0 server. https://www.jsonrpc.org/specification */
export type RpcMessage =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  | { readonly kind: "notification" };

// Each call has a connection of its own, so that no other call can have this id.
const ID = "mooring";

/** The text of a JSON-RPC 2.0 request. */
export function rpcRequest(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: "2.0", id: ID, method, params });
}

/**
 * Reads the reply to `rpcRequest`; undefined when it is not JSON-RPC 2.0 or answers another
 * request. An error with a null id counts: the server could not read the request's id.
 */
export function readRpcMessage(text: string): RpcMessage | undefined {
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

/** A JSON object's members; undefined for anything else. */
export function asObject(value: unknown): Record<string, unknown> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}
