import type { DescMethod } from "@bufbuild/protobuf";
import { Call } from "../../src/gateway/call.ts";

/** A call with these headers, of a transport that the test defines. */
export class TestCall extends Call {
  readonly transport = "grpc";
  readonly requestMethod = "POST";
  readonly url = "http://localhost/";
  readonly #headers: Headers;

  constructor(method: DescMethod, headers: Record<string, string> = {}) {
    super(method, "request");
    this.#headers = new Headers(headers);
  }

  encode = (): undefined => undefined;
  header = (name: string): string | undefined => this.#headers.get(name) ?? undefined;
  protected headers = (): Headers => this.#headers;
  protected address = (): string => "192.0.2.1";
  protected onGone = (): void => {};
}
