import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { serveHttp } from "../loopback.ts";

const CALLS = fileURLToPath(new URL("./proxy-calls.ts", import.meta.url));

it("the clients use no proxy of the environment, even if Node is configured to", async () => {
  const proxied: string[] = [];
  const proxy = await serveHttp((request, response) => {
    proxied.push(request.url ?? "");
    response.writeHead(502).end();
  });
  const direct: string[] = [];
  const peer = await serveHttp((request, response) => {
    direct.push(request.url ?? "");
    response.writeHead(418).end();
  });
  const address = `http://127.0.0.1:${proxy.port}`;
  const env = { ...process.env, NODE_USE_ENV_PROXY: "1", HTTP_PROXY: address, NO_PROXY: "" };
  const args = [CALLS, `127.0.0.1:${peer.port}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout.match(/HTTP status \d+/g)).toEqual(Array(3).fill("HTTP status 418"));
  expect(direct).toHaveLength(3);
  // The one request of Node's own agent shows that the proxy could be used.
  expect(proxied).toEqual([`http://127.0.0.1:${peer.port}/own`]);
});
