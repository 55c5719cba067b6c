import { describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { enveloped } from "./raw/cuttable.ts";
import { question } from "./raw/reflection.ts";
import { type Answer, askHttp2, saying, textOf } from "./raw/refusal.ts";
import { startService, TOKEN } from "./service.ts";

const listing = question({ case: "listServices", value: "" });

/** Every kind of reflection call, and whether gRPC has its own port. */
const ways = [
  ["gRPC", "grpc", "v1", false],
  ["gRPC, the older version", "grpc", "v1alpha", false],
  ["gRPC on a port of its own", "grpc", "v1", true],
  ["gRPC-Web", "grpc-web+proto", "v1", false],
  ["Connect", "connect+proto", "v1", false],
  ["Connect JSON", "connect+json", "v1", false],
] as const;

/** Services by their mode; with a port for gRPC or without. */
const servicesOf = (env: Readonly<Record<string, string>>) => {
  const start = (mode: string) =>
    startedForAll(() => startService({ env: { ...env, MOORING_REFLECTION: mode } }));
  return new Map(["on", "token", "off"].map((mode) => [mode, start(mode)]));
};
const onePort = servicesOf({});
const ownPort = servicesOf({ MOORING_GRPC_LISTEN: "127.0.0.1:0" });

describe.each(ways)("reflection over %s", (_name, type, version, alone) => {
  const ask = (mode: string, headers = {}, ...sent: [undefined?]): Promise<Answer> => {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    const { grpcPort = 0, port = 0 } = (alone ? ownPort : onePort).get(mode) ?? {};
    const all = { ":method": "POST", ":path": path, "content-type": `application/${type}` };
    const body = sent.length === 0 ? requestBytes() : undefined;
    return askHttp2(type === "grpc" ? grpcPort : port, { ...all, ...headers }, body);
  };
  const requestBytes = (): Buffer =>
    type.endsWith("json") ? enveloped(Buffer.from('{"listServices":""}')) : listing;

  test("answers every client when it is public", async () => {
    expect((await ask("on")).text).toContain("mooring.v1.SettingService");
  });

  test("answers clients with the token when it is required", async () => {
    const answer = await ask("token", { authorization: `Bearer ${TOKEN}` });
    expect(answer.text).toContain("mooring.v1.SettingService");
  });

  test("refuses other clients before their first request", async () => {
    for (const headers of [{}, { authorization: "guessed" }]) {
      const answer = await ask("token", headers, undefined);
      // gRPC clients map the HTTP status to UNAUTHENTICATED.
      if (answer.status !== 401) expect(textOf(answer)).toMatch(saying("unauthenticated"));
      expect(answer.text).not.toContain("mooring.");
    }
  });

  test("is not served when it is off", async () => {
    const answer = await ask("off", { authorization: TOKEN });
    if (answer.status !== 404) expect(answer.headers).toMatchObject({ "grpc-status": "12" });
    expect(answer.text).not.toContain("SettingService");
  });
});
