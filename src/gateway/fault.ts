import { Code, ConnectError } from "@connectrpc/connect";

/**
 * A request that never reaches an rpc: its HTTP status is the real one, whatever the switch for
 * documented paths says, and the envelope is its body.
 */
export class HttpFault extends Error {
  override readonly name = "HttpFault";
  readonly status: number;
  /** Header names and values by turns, such as `["Allow", "GET, HEAD"]`. */
  readonly headers: readonly string[];

  constructor(status: number, message: string, headers: readonly string[] = []) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** A request that its client has to correct: code 400 in the envelope. */
export function badRequest(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}

/** What a refusal means in the vocabulary of rpcs; undefined for an error that is none. */
export function toRefusal(error: unknown): ConnectError | undefined {
  if (error instanceof HttpFault) return badRequest(error.message);
  return error instanceof ConnectError ? error : undefined;
}

/** Text of a client's value for a message: quoted as JSON, cut at 64 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
