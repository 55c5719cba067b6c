import { Code, ConnectError } from "@connectrpc/connect";
import { Fault } from "../rpc/body.ts";

/**
 * A request that never reaches an rpc: its HTTP status is the real one, whatever the switch for
 * documented paths says, and the envelope is its body.
 */
export class HttpFault extends Fault {
  readonly status: number;

  /** @param headers of the reply, such as `{ allow: "GET, HEAD" }`. */
  constructor(status: number, message: string, headers?: Readonly<Record<string, string>>) {
    super(message, Code.InvalidArgument, { ...headers });
    this.status = status;
  }
}

/** A request that its client has to correct: code 400 in the envelope. */
export function badRequest(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}

/** Text of a client's value for a message: quoted as JSON, cut at 64 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
