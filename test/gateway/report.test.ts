import { create } from "@bufbuild/protobuf";
import fastify from "fastify";
import { expect, test, vi } from "vitest";
import { SettingSchema } from "../../gen/mooring/v1/setting_pb.js";
import {
  ListSettingsResponseSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { restGateway } from "../../src/gateway/gateway.ts";
import { createMethods } from "../../src/gateway/method.ts";
import { reportInterceptor } from "../../src/gateway/report.ts";

const rpc = SettingService.method.listSettings;
const LONG = 1_000;

const connect = {
  method: "POST",
  url: "/mooring.v1.SettingService/ListSettings",
  headers: { "content-type": "application/json" },
  payload: "{}",
} as const;

test.each([
  ["REST", { url: "/api/admin/setting/list" }, 0, 0],
  ["Connect", connect, 0, 0],
  ["REST, whose reply is encoded in parts", { url: "/api/admin/setting/list" }, LONG, 1],
  ["Connect, whose reply is encoded in parts", connect, LONG, 1],
])(
  "the signal of a reported call is made only if it is needed: %s",
  async (_, request, settings, signals) => {
    const reply = create(ListSettingsResponseSchema, {
      settings: Array.from({ length: settings }, (_one, at) =>
        create(SettingSchema, { key: `key_${at}` }),
      ),
    });
    const ended = vi.fn();
    const app = fastify();
    await app.register(restGateway, {
      methods: createMethods(
        (router) => router.rpc(rpc as never, (() => reply) as never),
        [reportInterceptor({ ended }, () => 0)],
      ),
      immutableReplies: true,
    });
    await app.ready();
    const made = vi.spyOn(globalThis, "AbortController");
    try {
      expect((await app.inject(request)).statusCode).toBe(200);
      expect(ended).toHaveBeenCalledOnce();
      expect(made).toHaveBeenCalledTimes(signals);
    } finally {
      made.mockRestore();
      await app.close();
    }
  },
);
