import { create } from "@bufbuild/protobuf";
import { expect, vi } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { startService, type TestService, TOKEN } from "../service.ts";
import { grpcTransport } from "../transport/grpc.ts";
import type { Transport } from "../transport/transport.ts";
import { type Cuttable, TITLE } from "./cuttable.ts";

const { getSetting, listRevisions, saveSettings } = SettingService.method;

/** A service, and a client that reads over another connection which requests were executed. */
export class Witness {
  readonly service: TestService;
  readonly #transport: Transport;
  #count = 0;
  /** The state after the last check; undefined: a request may have changed it since. */
  #known: object | undefined;

  private constructor(service: TestService) {
    this.service = service;
    this.#transport = grpcTransport("gRPC", service.grpcPort);
  }

  /** @param env variables of the service. */
  static async start(env: Readonly<Record<string, string>> = {}): Promise<Witness> {
    return new Witness(await startService({ env }));
  }

  async stop(): Promise<void> {
    this.#transport.close();
    await this.service.stop();
  }

  /** An identifier of a request in the log. */
  name(): string {
    this.#count += 1;
    return `request-${this.#count}`;
  }

  /** State that the requests of the table would change. */
  async state(): Promise<object> {
    const headers = { authorization: TOKEN, "x-request-id": "witness" };
    const title = create(getSetting.input, { key: "site_title" });
    const newest = create(listRevisions.input, { pageSize: 1 });
    return {
      title: await this.#transport.call(getSetting, title, { headers }),
      history: await this.#transport.call(listRevisions, newest, { headers }),
    };
  }

  /** State before a request. */
  async before(): Promise<object> {
    this.#known ??= await this.state();
    return this.#known;
  }

  /** Undoes a request that saved the title: a further one would change nothing. */
  async putBack(): Promise<void> {
    this.#known = undefined;
    const settings = [{ key: "site_title", value: "as it was" }];
    const outcome = await this.#transport.call(
      saveSettings,
      create(saveSettings.input, { settings }),
      { headers: { authorization: TOKEN, "x-request-id": "witness" } },
    );
    expect(outcome).toMatchObject({ kind: "reply" });
  }

  /** Checks that requests were dropped, each logged once, and had no effect. */
  async expectDropped(
    names: readonly string[],
    { rpc, transport }: Cuttable,
    before: object,
  ): Promise<void> {
    this.#known = undefined;
    const line = expect.objectContaining({
      msg: "call dropped",
      method: `${rpc.parent.typeName}/${rpc.name}`,
      transport,
      peer: "127.0.0.1",
      reason: "the client disconnected before the end of its request",
    });
    for (const name of names) expect(await this.#untilLogged(name)).toEqual([line]);
    const after = await this.state();
    expect(after).toEqual(before);
    this.#known = after;
    for (const name of names) expect(this.#linesOf(name)).toHaveLength(1);
  }

  /**
   * Checks that the complete request is executed: otherwise the check of the truncated one is void.
   */
  async expectCarriedOut(name: string, { does }: Cuttable, before: object): Promise<void> {
    this.#known = undefined;
    expect(await this.#untilLogged(name)).toEqual([
      expect.objectContaining({ msg: "call", peer: "127.0.0.1" }),
    ]);
    const after = await this.state();
    if (does === "save")
      expect(after).toMatchObject({ title: { message: { setting: { value: TITLE } } } });
    // The old token is refused.
    else if (does === "reset") expect(after).toMatchObject({ title: { kind: "failure" } });
    else expect(after).toEqual(before);
  }

  #linesOf(name: string): Record<string, unknown>[] {
    return this.service.logLines().filter(({ requestId }) => requestId === name);
  }

  async #untilLogged(name: string): Promise<Record<string, unknown>[]> {
    const isLogged = () => this.#linesOf(name).length > 0;
    await vi.waitUntil(isLogged, { timeout: 60_000, interval: 2 });
    return this.#linesOf(name);
  }
}
