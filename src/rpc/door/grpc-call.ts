import type { Metadata } from "@grpc/grpc-js";
import type { Call, HeaderReader } from "../method.ts";
import { plainAddress } from "../peer.ts";

/** What unary and streaming calls of grpc-js have in common. */
export interface GrpcSurfaceCall {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  getPeer(): string;
  on(event: "cancelled", listener: () => void): unknown;
}

/**
 * A call as the interceptors see it. A class, because one is made for each call: what most calls do
 * not ask for is made when it is asked for.
 */
export class GrpcCall implements Call, HeaderReader {
  readonly door = "grpc";
  readonly requestId: string;
  readonly #surface: GrpcSurfaceCall;
  #controller: AbortController | undefined;

  constructor(surface: GrpcSurfaceCall, requestId: (sent: string | undefined) => string) {
    this.#surface = surface;
    this.requestId = requestId(this.get("x-request-id"));
  }

  get header(): HeaderReader {
    return this;
  }

  get(name: string): string | undefined {
    return readMetadata(this.#surface.metadata, name);
  }

  get signal(): AbortSignal {
    this.#controller ??= abortOnCancel(this.#surface);
    return this.#controller.signal;
  }

  get peer(): string {
    return addressOf(this.#surface.getPeer());
  }
}

function readMetadata(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  if (values.length === 0) return undefined;
  return values.length === 1 ? String(values[0]) : values.map(String).join(", ");
}

function abortOnCancel(surface: GrpcSurfaceCall): AbortController {
  const controller = new AbortController();
  if (surface.cancelled) controller.abort();
  else surface.on("cancelled", () => controller.abort());
  return controller;
}

/** `127.0.0.1:4711`, `[::1]:4711` or `unknown`, without the port. */
function addressOf(peer: string): string {
  const match = /^\[?([0-9a-fA-F.:]+?)\]?:\d+$/.exec(peer);
  return plainAddress(match?.[1]);
}
