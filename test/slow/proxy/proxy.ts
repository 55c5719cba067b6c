import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { needs, type Program, startProgram } from "../../downloaders/program.ts";
import { startService, type TestService, TOKEN } from "../../wire/service.ts";

/** Addresses of a proxy in a test and of its upstream, and its certificate. */
export interface ProxyPlace {
  readonly port: number;
  /** Of Mooring. */
  readonly service: number;
  /** Of the server behind or beside Mooring. */
  readonly server?: number;
  readonly folder: string;
  readonly key: string;
  readonly certificate: string;
}

/** A program in front of Mooring. */
export interface Proxy {
  readonly command: string;
  /** Writes its configuration. @returns its arguments. */
  readonly prepare: (place: ProxyPlace) => readonly string[];
}

/** Makes a certificate for localhost. @returns the paths of its files. */
export function makeCertificate(folder: string): Pick<ProxyPlace, "key" | "certificate"> {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const pair = ["-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate];
  execFileSync("openssl", ["req", "-x509", "-days", "1", ...pair, ...subject], { stdio: "pipe" });
  return { key, certificate };
}

/** Not the proxy's own address: this is the client's. */
const CLIENT = "127.0.0.2";
/** Options of a socket, which HTTP/2 may share. */
const from: object = { localAddress: CLIENT };

/** Claims of the operating page about a proxy with the configuration of this repository. */
export function describeProxy({ command, prepare }: Proxy): void {
  const check = needs(command, "openssl");
  let isThere = false;
  let service: TestService;
  let proxy: Program & { port: number };
  let ca: string;

  beforeEach((context) => {
    check(context);
  });

  beforeAll(async () => {
    check({ skip: (missing: boolean) => (isThere = !missing) } as never);
    if (!isThere) return;
    service = await startService({ env: { MOORING_TRUSTED_PROXIES: "127.0.0.1" } });
    proxy = await startProgram({
      command,
      prepare: async (port, folder) => {
        const { key, certificate } = makeCertificate(folder);
        ca = readFileSync(certificate, "utf8");
        return prepare({ port, service: service.port, folder, key, certificate });
      },
      isReady: async (port) => (await send(port, "/ping")).status === 200,
    });
  });

  afterAll(async () => {
    await proxy?.stop();
    await service?.stop();
  });

  async function send(port: number, path: string, { body, ...sent }: Sent = {}) {
    const options = { host: "localhost", port, path, ca, agent: false, ...sent };
    return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const outgoing = request(options, (reply) => {
        text(reply).then((all) => resolve({ status: reply.statusCode, text: all }), reject);
      });
      outgoing.on("error", reject).end(body);
    });
  }

  const headers = { authorization: TOKEN, "x-forwarded-for": "203.0.113.9" };

  function transports() {
    const baseUrl = `https://localhost:${proxy.port}`;
    return {
      grpc: createGrpcTransport({ baseUrl, nodeOptions: { ca, ...from } }),
      connect: createConnectTransport({
        baseUrl,
        httpVersion: "1.1",
        nodeOptions: { ca, ...from },
      }),
    };
  }

  describe(command, () => {
    test("passes REST, Connect and gRPC on, with the client's address", async () => {
      for (const [name, transport] of Object.entries(transports())) {
        const settings = createClient(SettingService, transport);
        const change = { settings: [{ key: "site_title", value: name }] };
        await settings.saveSettings(change, { headers });
        const reply = await settings.listRevisions({ pageSize: 1 }, { headers });
        expect(reply.revisions[0]).toMatchObject({ transport: name, peer: CLIENT });
      }
      const reply = await send(proxy.port, "/api/admin/setting/get?key=site_title", { headers });
      expect(JSON.parse(reply.text)).toMatchObject({ code: 200, data: { value: "connect" } });
    });

    test("passes streams of gRPC and of events on without buffering", async () => {
      const settings = createClient(SettingService, transports().grpc);
      const end = new AbortController();
      const events = settings.watchSettings({}, { headers, signal: end.signal });
      const iterator = events[Symbol.asyncIterator]();
      const first = await iterator.next();
      expect(first.value?.revision).toBeGreaterThan(0n);
      const title = { settings: [{ key: "site_title", value: "while it is watched" }] };
      const { revision } = await settings.saveSettings(title, { headers });
      expect((await iterator.next()).value?.revision).toBe(revision);
      end.abort();

      const options = { host: "localhost", port: proxy.port, ca, headers, agent: false };
      await new Promise<void>((resolve, reject) => {
        const outgoing = request({ ...options, path: "/api/admin/setting/watch" }, (reply) => {
          // It never ends: the data received so far is here.
          reply.once("data", (chunk: Buffer) => {
            expect(String(chunk)).toMatch(/^id: /);
            outgoing.destroy();
            resolve();
          });
        });
        outgoing.on("error", reject).end();
      });
    });

    test("accepts bodies up to the service's limit, and no larger ones", async () => {
      const post = { method: "POST", headers: { ...headers, "content-type": "application/json" } };
      const value = (size: number) =>
        JSON.stringify([{ key: "announcement", value: "x".repeat(size) }]);
      const fits = await send(proxy.port, "/api/admin/setting/save", {
        ...post,
        body: value(900_000),
      });
      expect(JSON.parse(fits.text)).toMatchObject({ code: 200 });
      const large = await send(proxy.port, "/api/admin/setting/save", {
        ...post,
        body: value(9 * 2 ** 20),
      });
      expect(large.status).toBe(413);
    });

    test("serves everything but gRPC below a path", async () => {
      const page = await send(proxy.port, "/mooring/");
      expect(page.text).toContain('href="reference"');
      const docs = await send(proxy.port, "/mooring/reference");
      expect(docs).toMatchObject({
        status: 200,
        text: expect.stringContaining('href="openapi.json"'),
      });
      const settings = await send(proxy.port, "/mooring/api/public/settings");
      expect(JSON.parse(settings.text)).toMatchObject({ code: 200 });
    });
  });
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}
