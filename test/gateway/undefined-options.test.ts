import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createOpenApi } from "../../src/gateway/openapi/document.ts";
import { ALL_OPTIONS } from "../../src/gateway/options.ts";
import { defineRpc } from "./contract.ts";
import { echo } from "./gateway-server.ts";
import { MOUNTS, type MountOptions } from "./mount.ts";

// Options that are undefined count as absent: programs take them from settings that may be missing.

const methods = [
  echo(defineRpc({ http: { post: "/v1/things/{text}", body: "*" }, reads: true })),
  // A shadowed rule calls the default of `warn`.
  echo(defineRpc({ http: { post: "/v1/things/{seen}", body: "*" }, reads: true })),
];

const MEMBERS: MountOptions = {
  bounds: { buffered: undefined, timeoutMs: undefined, maxBytes: undefined },
  streams: { heartbeat: undefined, patience: undefined },
  tolerance: { nullBody: undefined, trailingSlash: undefined },
};

const NONE: MountOptions = Object.fromEntries(ALL_OPTIONS.map((name) => [name, undefined]));
const OWN: MountOptions = { address: undefined, requestId: undefined, patience: undefined };

describe.each(MOUNTS)("over %s", (name, mount) => {
  test.each([
    ["options", NONE],
    ["members of options", MEMBERS],
  ])("undefined %s have their defaults", async (_, options) => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    onTestFinished(() => warned.mockRestore());
    const own = name === "restHandler" ? OWN : {};
    const ask = await mount({ ...options, ...own, prefix: undefined, methods });
    const init = { method: "POST", headers: { "content-type": "application/json" } };
    const reply = await ask("/v1/things/a", { ...init, body: '{"small":1}' });
    expect([reply.status, await reply.json()]).toMatchObject([
      200,
      { word: '{"text":"a","small":1}' },
    ]);
    const large = { ...init, body: JSON.stringify({ words: ["x".repeat(2 ** 20)] }) };
    expect((await ask("/v1/things/a", large)).status).toBe(413);
  });
});

test("undefined options of a document have their defaults", () => {
  const options = { title: "Things", version: "1", methods };
  const none = { servers: undefined, info: undefined, isPublic: undefined, comments: undefined };
  const more = { memberNames: undefined, securitySchemes: undefined, description: undefined };
  expect(createOpenApi({ ...options, ...none, ...more, rules: undefined })).toEqual(
    createOpenApi(options),
  );
});
