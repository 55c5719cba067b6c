import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, drained, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { read } from "./transport/transport.ts";

const { listAuditEvents, watchAudit, getCheckpoint } = AuditService.method;
const { saveSettings } = SettingService.method;
const headers = { authorization: TOKEN };

describe("the audit", () => {
  const service = startedForAll(startService);

  test.each(sharedPortTransports)("is read and watched over $name", async ({ name, open }) => {
    const transport = open(service);
    onTestFinished(transport.close);
    const settings = [{ key: "site_title", value: `Over ${name}` }];
    const save = create(saveSettings.input, { settings });
    const through = transport.carries(saveSettings)
      ? transport
      : grpcTransport("gRPC", service.grpcPort);
    if (through !== transport) onTestFinished(through.close);
    const reason = { "x-change-reason": "a test" };
    await through.call(saveSettings, save, { headers: { ...headers, ...reason } });
    const { events } = await read(transport, listAuditEvents, { subject: "site_*", pageSize: 1 });
    const [last] = events as JsonObject[];
    expect(last).toMatchObject({
      actor: "admin",
      transport: through.protocol,
      method: "SaveSettings",
      peer: "127.0.0.1",
      outcome: "OK",
      subjects: ["site_title"],
    });
    expect(JSON.parse(String(last?.["detail"]))).toMatchObject({ keys: 1, reason: "a test" });
    const { checkpoint } = await read(transport, getCheckpoint);
    const { sequence = null, hash = null } = last ?? {};
    expect(checkpoint).toMatchObject({ sequence, hash });
    if (!transport.carries(watchAudit)) return;
    const afterSequence = BigInt(String(sequence)) - 1n;
    expect(await read(transport, watchAudit, { afterSequence })).toMatchObject({
      sequence,
      events: [{ hash }],
    });
  });

  test("is readable with audit:read alone, which has no limits", async () => {
    const root = as(service.port);
    await expect(give(root, ["audit:read"], ["key:site_*"])).rejects.toThrow(/cannot be limited/);
    const { text } = await give(root, ["audit:read"]);
    expect((await as(service.port, text).audit.listAuditEvents({})).events).not.toEqual([]);
  });

  test("has streams that end with the right to read it", async () => {
    const root = as(service.port);
    const { text, id } = await give(root, ["audit:read"]);
    const stream = as(service.port, text).audit.watchAudit({})[Symbol.asyncIterator]();
    await stream.next();
    await root.access.revokeToken({ id });
    await expect(drained(stream)).rejects.toMatchObject({ code: Code.Unauthenticated });
  });
});
