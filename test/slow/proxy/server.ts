import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { needs, type Program, startProgram } from "../../downloaders/program.ts";
import { type StandIn, startStandIn } from "../../sites/stand-in.ts";
import { startService, type TestService, TOKEN } from "../../wire/service.ts";
import { startFront } from "../../wire/upstream.ts";
import { makeCertificate, type ProxyPlace } from "./proxy.ts";

/** Configurations of a proxy program for Mooring and a server. */
export interface ServerProxy {
  readonly command: string;
  /** The proxy, Mooring, and the server behind it. */
  readonly front: (place: ProxyPlace) => readonly string[];
  /** The proxy, and the server and Mooring side by side. */
  readonly beside: (place: ProxyPlace) => readonly string[];
}

interface Situation {
  readonly service: TestService;
  readonly site: StandIn;
  readonly stop: () => Promise<void>;
}

const trusted = { MOORING_TRUSTED_PROXIES: "127.0.0.1" };

async function inFront(): Promise<Situation> {
  const { service, site, stop } = await startFront({ env: trusted });
  return { service, site, stop };
}

async function sideBySide(): Promise<Situation> {
  const [site, service] = [await startStandIn(), await startService({ env: trusted })];
  return {
    site,
    service,
    stop: async () => {
      await service.stop();
      await site.stop();
    },
  };
}

const UPLOAD = 200 * 2 ** 20;
const LONG = { timeout: 180_000 };

/** UPLOAD bytes, which are never in memory together. */
function upload(): Readable {
  const block = Buffer.alloc(2 ** 20, "0123456789abcdef");
  return Readable.from(Array.from({ length: UPLOAD / block.length }, () => block));
}

/** Claims of the pages about both situations with a server, of the files in packaging/. */
export function describeServerProxy({ command, front, beside }: ServerProxy): void {
  describe.each([
    { name: "in front of a server", start: inFront, prepare: front, mooring: "" },
    { name: "beside a server", start: sideBySide, prepare: beside, mooring: "/mooring" },
  ])(`${command} before Mooring $name`, ({ start, prepare, mooring }) => {
    const check = needs(command, "openssl");
    let situation: Situation | undefined;
    let proxy: Program & { port: number };
    let ca: string;

    beforeEach((context) => check(context));

    beforeAll(async () => {
      let isThere = false;
      check({ skip: (missing: boolean) => (isThere = !missing) } as never);
      if (!isThere) return;
      situation = await start();
      const { service, site } = situation;
      proxy = await startProgram({
        command,
        prepare: async (port, folder) => {
          const files = makeCertificate(folder);
          ca = readFileSync(files.certificate, "utf8");
          const server = Number(new URL(site.url).port);
          return prepare({ port, service: service.port, server, folder, ...files });
        },
        isReady: async (port) => (await send(`${mooring}/ping`, {}, port)).status === 200,
      });
    });

    afterAll(async () => {
      await proxy?.stop();
      await situation?.stop();
    });

    const site = () => {
      if (situation === undefined) throw new Error("the proxy is not installed");
      return situation.site;
    };

    function open(path: string, sent: Sent, port = proxy.port): Promise<IncomingMessage> {
      const { body, ...options } = sent;
      return new Promise((resolve, reject) => {
        const outgoing = request(
          { host: "localhost", port, path, ca, agent: false, ...options },
          resolve,
        ).on("error", reject);
        if (body instanceof Readable) body.pipe(outgoing);
        else outgoing.end(body);
      });
    }

    async function send(path: string, sent: Sent = {}, port?: number) {
      const reply = await open(path, sent, port);
      return { status: reply.statusCode, headers: reply.headers, text: await text(reply) };
    }

    async function post(path: string, body: object, headers: Record<string, string> = {}) {
      const reply = await send(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return JSON.parse(reply.text) as { code: number; data: Record<string, string> };
    }

    async function login(): Promise<string> {
      const { data } = await post("/api/auth/login", {
        username: "admin",
        password: "admin-password",
      });
      return data["token"] ?? "";
    }

    const basic = `Basic ${Buffer.from("admin:admin-password").toString("base64")}`;

    test("an upload of the pages of 200 MB arrives", LONG, async () => {
      const reply = await send("/api/fs/put", {
        method: "PUT",
        headers: {
          authorization: await login(),
          "file-path": "/large",
          "content-length": String(UPLOAD),
        },
        body: upload(),
      });
      expect(JSON.parse(reply.text)).toMatchObject({ code: 200 });
      expect(site().uploaded()).toBe(UPLOAD);
    });

    test("an upload by WebDAV of 200 MB arrives, and a file can be moved", LONG, async () => {
      const put = await send("/dav/large", {
        method: "PUT",
        headers: { authorization: basic, "content-length": String(UPLOAD) },
        body: upload(),
      });
      expect(put.status).toBe(201);
      const destination = `https://localhost:${proxy.port}/dav/moved`;
      const moved = await send("/dav/hello.txt", {
        method: "COPY",
        headers: { authorization: basic, destination },
      });
      expect(moved.status).toBe(201);
      const found = await send("/dav/", { method: "PROPFIND", headers: { authorization: basic } });
      expect(found.text).toContain("/dav/moved");
    });

    test("links have the scheme and port of the visitor, and ranges are passed on", async () => {
      const authorization = await login();
      const { data } = await post("/api/fs/get", { path: "/hello.txt" }, { authorization });
      expect(data["raw_url"]).toBe(`https://localhost:${proxy.port}/d/hello.txt?sign=s`);
      const { pathname, search } = new URL(data["raw_url"] ?? "");
      const part = await send(`${pathname}${search}`, { headers: { range: "bytes=6-9" } });
      expect([part.status, part.text]).toEqual([206, "from"]);
    });

    test("each event of a stream goes out at once", async () => {
      const headers = { authorization: TOKEN };
      const stream = await open(`${mooring}/api/admin/setting/watch`, { headers });
      expect(stream.headers["content-type"]).toMatch(/^text\/event-stream/);
      const chunks = stream.setEncoding("utf8")[Symbol.asyncIterator]();
      let received = "";
      const until = async (words: string): Promise<void> => {
        while (!received.includes(words)) received += (await chunks.next()).value;
      };
      await until('"snapshot"');
      for (const value of ["first", "second"]) {
        const path = `${mooring}/api/admin/setting/save`;
        await post(path, [{ key: "site_title", value }], headers);
        await until(`"new_value":"${value}"`);
      }
      stream.destroy();
    });

    test.skipIf(mooring !== "")("gRPC is served on the same name", async () => {
      const baseUrl = `https://localhost:${proxy.port}`;
      const transport = createGrpcTransport({ baseUrl, nodeOptions: { ca } });
      const settings = createClient(SettingService, transport);
      const { setting } = await settings.getSetting(
        { key: "site_title" },
        { headers: { authorization: TOKEN } },
      );
      expect(setting?.key).toBe("site_title");
    });
  });
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Readable;
}
