// Targets behind servers that misbehave.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { elementsOf, textsOf } from "../../src/backups/target/http.ts";
import { createS3Target } from "../../src/backups/target/s3.ts";
import type { BackupTarget } from "../../src/backups/target/target.ts";
import { createWebdavTarget } from "../../src/backups/target/webdav.ts";
import { startedForEach } from "../started.ts";

const SECRET = "secret-of-the-target-1f";
const { signal } = new AbortController();

/** Replies of the server; the test sets them. */
let reply: (request: IncomingMessage, response: ServerResponse) => void;
/** Requests that other servers than the target have got. */
let elsewhere: (string | undefined)[] = [];

async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume();
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const other = startedForEach(() => {
  elsewhere = [];
  return listen(({ headers }, response) => {
    elsewhere.push(headers.authorization);
    response.end();
  });
});
const server = startedForEach(() => listen((...call) => reply(...call)));

const KINDS: readonly [string, () => BackupTarget][] = [
  [
    "S3",
    () =>
      createS3Target({
        bucket: "backups",
        prefix: "",
        endpoint: server.url,
        region: "us-east-1",
        accessKeyId: "mooring",
        secretAccessKey: SECRET,
      }),
  ],
  [
    "WebDAV",
    () => createWebdavTarget({ url: `${server.url}/dav/`, user: "mooring", password: SECRET }),
  ],
];

describe.each(KINDS)("%s", (_kind, open) => {
  const calls: readonly [string, (target: BackupTarget) => Promise<unknown>][] = [
    ["list", (target) => target.list(signal)],
    ["read", (target) => target.read("a.json", signal)],
    ["write", (target) => target.write("a.json", Buffer.from("{}"), signal)],
    ["rename", (target) => target.rename("a.json.part", "a.json", signal)],
    ["remove", (target) => target.remove("a.json", signal)],
  ];

  test.each(calls)(
    "%s follows no redirect, which would send the credentials on",
    async (_name, call) => {
      reply = (_request, response) =>
        response.writeHead(307, { location: `${other.url}/steal` }).end();
      await expect(call(open())).rejects.toThrow("redirects to another address");
      expect(elsewhere).toEqual([]);
    },
  );

  test.each(calls)("%s reports a failure without the secret", async (_name, call) => {
    reply = (_request, response) => response.writeHead(500).end(`failed with ${SECRET}`);
    const failure = await call(open()).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ message: expect.stringContaining("HTTP 500") });
    expect(String((failure as Error).stack)).not.toContain(SECRET);
  });

  test.each(calls)("%s ends with its signal", async (_name, call) => {
    const ending = new AbortController();
    reply = () => ending.abort(new Error("the caller is gone"));
    const target = open();
    const ended = Object.fromEntries(
      Object.entries(target).map(([name, value]) => [
        name,
        typeof value === "function"
          ? (...of: unknown[]) => value(...of.slice(0, -1), ending.signal)
          : value,
      ]),
    );
    await expect(call(ended as unknown as BackupTarget)).rejects.toThrow("the caller is gone");
  });

  test("a file that is larger than a backup may be is not read into memory", async () => {
    reply = (_request, response) => {
      const block = Buffer.alloc(2 ** 20);
      const write = (): void => {
        while (!response.destroyed && response.write(block));
      };
      response.on("drain", write).on("error", () => undefined);
      write();
    };
    await expect(open().read("a.json", signal)).rejects.toThrow("more than 33554432 bytes");
  });

  test("a server that is away is named", async () => {
    const target = open();
    await server.stop();
    await expect(target.list(signal)).rejects.toThrow("cannot be reached: ECONNREFUSED");
  });
});

test("names of a list that are no files of the collection are left out", async () => {
  const hrefs = [
    "/dav/",
    "/dav/a.json",
    "/dav/b/c.json",
    "/other/d.json",
    "/dav/%2e%2e%2fe",
    "/dav/%zz",
  ];
  const responses = hrefs.map((href) => `<D:response><D:href>${href}</D:href></D:response>`);
  reply = (_request, response) =>
    response
      .writeHead(207)
      .end(`<D:multistatus xmlns:D="DAV:">${responses.join("")}</D:multistatus>`);
  const files = await KINDS[1]?.[1]().list(signal);
  expect(files).toEqual([{ name: "a.json", size: 0 }]);
});

test("texts of elements are read with any prefix, and unescaped", () => {
  const xml = `<L xmlns="x"><a:Key>1 &amp; &#65;&#x42; &unknown;</a:Key><Key p="q">2</Key><Keys>3</Keys></L>`;
  expect(textsOf(xml, "Key")).toEqual(["1 & AB &unknown;", "2"]);
  expect(elementsOf("<r><n>1</n></r><r><n>2</n></r>", "r")).toEqual(["<n>1</n>", "<n>2</n>"]);
});
