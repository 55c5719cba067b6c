import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeCertificate } from "../downloaders/certificate.ts";
import { exchange } from "../wire/raw/line.ts";
import { type StandIn, type StandInOptions, startStandIn } from "./stand-in.ts";
import type { Row } from "./stand-in-setting.ts";

let site: StandIn;

beforeEach(async () => {
  site = await startStandIn();
});

afterEach(() => site.stop());

async function another(options: StandInOptions): Promise<void> {
  await site.stop();
  site = await startStandIn(options);
}

interface Answer {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

async function call(
  method: string,
  path: string,
  given: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { body, token = site.token(), headers = {} } = given;
  const reply = await fetch(site.url + path, {
    method,
    redirect: "manual",
    headers: {
      ...(token === "" ? {} : { authorization: token }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  const json = text.startsWith("{") ? JSON.parse(text) : {};
  return { status: reply.status, code: 0, message: "", data: null, ...json };
}

const save = (body: unknown): Promise<Answer> => call("POST", "/api/admin/setting/save", { body });

async function rows(): Promise<Row[]> {
  return (await call("GET", "/api/admin/setting/list")).data as Row[];
}

async function rowOf(key: string): Promise<Row> {
  const found = (await rows()).find((row) => row.key === key);
  if (found === undefined) throw new Error(`no ${key}`);
  return found;
}

describe("a save at the site", () => {
  test("of a row without its members sets type empty, group 0, flag 0, index 0, and makes it public", async () => {
    expect((await save([{ key: "sso_client_secret", value: "x" }])).code).toBe(200);
    expect(await rowOf("sso_client_secret")).toMatchObject({
      type: "",
      group: 0,
      flag: 0,
      index: 0,
    });
    const open = (await call("GET", "/api/public/settings", { token: "" })).data;
    expect(open).toMatchObject({ sso_client_secret: "x" });
  });

  test("of its own list changes nothing, and ignores unknown members", async () => {
    const before = await rows();
    expect((await save(before.map((row) => ({ ...row, revision: "7" })))).code).toBe(200);
    expect(await rows()).toEqual(before);
  });

  test("refuses an index as text and an empty list, reads null as empty, and ignores a form", async () => {
    const row = await rowOf("site_title");
    expect((await save([{ ...row, index: "1" }])).code).toBe(400);
    expect((await save([{ ...row, value: null }])).code).toBe(200);
    expect(site.value("site_title")).toBe("");
    expect((await save([])).code).toBe(500);
    const text = await call("POST", "/api/admin/setting/save", {
      body: [{ ...row, value: "y" }],
      headers: { "content-type": "text/plain" },
    });
    expect(text.code).toBe(500);
    expect(site.value("site_title")).toBe("");
  });

  test("with a refused item stores nothing, but earlier hooks have run", async () => {
    const privacy = { ...(await rowOf("privacy_regs")), value: "hook" };
    const chunk = { ...(await rowOf("multipart_chunk_size")), value: "0" };
    const title = { ...(await rowOf("site_title")), value: "new" };
    const answer = await save([privacy, title, chunk]);
    expect(answer.code).toBe(500);
    expect(answer.message).toContain("****");
    expect(answer.message.split("\n").length).toBeGreaterThan(1);
    expect(site.value("site_title")).not.toBe("new");
  });

  test("of unknown keys gets flag 3 and repaired metadata at a restart; values are kept", async () => {
    await save([
      { key: "made_up", value: "1" },
      { key: "site_title", value: "kept" },
    ]);
    await site.restart();
    expect(await rowOf("made_up")).toMatchObject({ flag: 3, value: "1" });
    expect(await rowOf("site_title")).toMatchObject({ group: 1, type: "string", value: "kept" });
    expect((await call("POST", "/api/admin/setting/delete?key=made_up")).code).toBe(200);
  });

  test("of an unknown key creates it silently, and public; only deprecated keys can be deleted", async () => {
    const open = async () => (await call("GET", "/api/public/settings", { token: "" })).data;
    await save([{ key: "made_up", value: "1" }]);
    expect(await open()).toMatchObject({ made_up: "1" });
    const remove = async () => (await call("POST", "/api/admin/setting/delete?key=made_up")).code;
    expect(await remove()).toBe(500);
    await save([{ key: "made_up", value: "1", flag: 3 }]);
    expect(await remove()).toBe(200);
    expect(site.value("made_up")).toBeUndefined();
  });

  test("of factory rows has a different token each time", async () => {
    const rowsOf = async () =>
      (await call("POST", "/api/admin/setting/default")).data as readonly Row[];
    const tokens = [await rowsOf(), await rowsOf()].map(
      (list) => list.find(({ key }) => key === "token")?.value,
    );
    expect(new Set([...tokens, site.token()]).size).toBe(3);
  });

  test("of version is kept until the next start", async () => {
    await save([{ ...(await rowOf("version")), value: "v0" }]);
    expect(site.value("version")).toBe("v0");
    await site.restart();
    expect(site.value("version")).toContain("v4.2.5");
  });
});

describe("states", () => {
  test("unmatched GET and POST are HTML with 200, other methods 405 without a body", async () => {
    for (const method of ["GET", "POST"]) {
      const reply = await fetch(`${site.url}/api/nothing`, { method });
      expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/html"]);
      await reply.body?.cancel();
    }
    expect((await fetch(`${site.url}/api/nothing`, { method: "PUT" })).status).toBe(405);
  });

  test("a TLS port answers plain HTTP with 400 in plain text, without headers", async () => {
    const certificate = await makeCertificate();
    const key = await readFile(certificate.privateKey, "utf8");
    await another({ tls: { cert: certificate.pem, key } });
    await certificate.remove();
    const text = await exchange(site.port, ["GET /ping HTTP/1.1\r\nHost: h\r\n\r\n"]);
    expect(text).toBe(
      "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
    );
  });
});

describe("the user of a request", () => {
  const login = async (password = "admin-password", from = ""): Promise<Answer> =>
    call("POST", "/api/auth/login", {
      token: "",
      body: { username: "admin", password },
      headers: from === "" ? {} : { "x-forwarded-for": from },
    });
  const tokenOf = async (): Promise<string> => ((await login()).data as { token: string }).token;

  test.each([
    ["", 401],
    ["wrong", 401],
    ["Bearer ", 401],
  ])("with the token %j gets code 401 at HTTP 200", async (token, code) => {
    const full = token === "Bearer " ? `Bearer ${site.token()}` : token;
    const answer = await call("GET", "/api/admin/setting/list", { token: full });
    expect(answer).toMatchObject({ status: 200, code });
  });

  test("is logged out by logout, restart and a new password; two logins within a second share a token", async () => {
    const me = async (token: string) => (await call("GET", "/api/me", { token })).code;
    const first = await tokenOf();
    expect(await me(first)).toBe(200);
    await call("GET", "/api/auth/logout", { token: first });
    expect(await me(first)).toBe(401);
    const second = await tokenOf();
    await site.restart();
    expect(await me(second)).toBe(401);
    const third = await tokenOf();
    await call("POST", "/api/me/update", { token: third, body: { password: "another" } });
    expect(await me(third)).toBe(401);
    expect(await me(site.token())).toBe(200);
  });
});

describe("files", () => {
  test("WebDAV's Destination must have the host of the request", async () => {
    const move = (destination: string) =>
      fetch(`${site.url}/dav/hello.txt`, {
        method: "COPY",
        headers: {
          authorization: `Basic ${Buffer.from("admin:admin-password").toString("base64")}`,
          destination,
        },
      });
    expect((await move(`${site.url}/dav/copy.txt`)).status).toBe(201);
    expect((await move("http://elsewhere.example/dav/copy.txt")).status).toBe(502);
  });
});
