import { describe, expect, test } from "vitest";
import { Health } from "../../gen/health/v1/health_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { startedForAll } from "../started.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService } from "./service.ts";
import { invoke } from "./transport/transport.ts";

const { ping } = PublicService.method;
const HEADER = "mooring-at-least-revision";

const service = startedForAll(startService);

describe.each(sharedPortTransports)("$name", ({ open }) => {
  test.each(["1000000", "no number"])("health checks ignore the revision %s", async (revision) => {
    const transport = open(service);
    for (const method of [ping, Health.method.check]) {
      if (!transport.carries(method)) continue;
      const reply = await invoke(transport, method, {}, { [HEADER]: revision });
      expect(reply).toMatchObject({ kind: "reply" });
    }
    transport.close();
  });
});

test.each(["/ping", "/livez", "/readyz"])("%s ignores the revision", async (path) => {
  const reply = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    headers: { [HEADER]: "1000000" },
  });
  expect(reply.status).toBe(200);
});

test.each([
  ["1000000", 503, /^本实例当前为第 \d+ 版，尚未到第 1000000 版：请稍后再试，或访问其他实例$/],
  ["x", 400, /^mooring-at-least-revision 应为回复中给出的版本号，例如 42，而不是“x”$/],
])(
  "a read with the revision %s has an error message in Chinese",
  async (revision, code, sentence) => {
    const reply = await fetch(`http://127.0.0.1:${service.port}/api/public/settings`, {
      headers: { [HEADER]: revision, "accept-language": "zh-CN" },
    });
    expect(await reply.json()).toMatchObject({
      code,
      localized_message: { locale: "zh-CN", message: expect.stringMatching(sentence) },
    });
  },
);
