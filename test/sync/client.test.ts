import type { RequestListener } from "node:http";
import { expect, test } from "vitest";
import { createTranslations } from "../../src/messages/language.ts";
import { textIn } from "../../src/messages/message.ts";
import { createSiteClient } from "../../src/sync/client.ts";
import type { SiteFailure } from "../../src/sync/failure.ts";
import { serveHttp } from "../loopback.ts";

const json =
  (status: number, body: string): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(body);

const envelope = (code: number, message = "") => json(200, JSON.stringify({ code, message }));

test.each<[string, SiteFailure["kind"], string, RequestListener]>([
  ["a code without words", "refused", "代码 500", envelope(500)],
  ["code 401 without words", "unauthorized", "SITE 拒绝了令牌：代码 401", envelope(401)],
  ["code 403 without words", "forbidden", "SITE 返回 403：不是管理员的令牌", envelope(403)],
  ["no reply", "silent", "SITE 在 0.2 秒内没有回答：它的存储可能还在加载", () => undefined],
  ["words of the site", "refused", "its own words", envelope(500, "its own words")],
])("%s is a failure in the language of the reader", async (_name, kind, text, listener) => {
  const { port } = await serveHttp(listener);
  const url = `http://127.0.0.1:${port}`;
  const limit = kind === "silent" ? 200 : 60_000;
  const client = createSiteClient({ url, token: "t", ca: "", pin: "" }, 1, limit);
  try {
    const failure = (await client
      .call("GET", "/api")
      .catch((error: unknown) => error)) as SiteFailure;
    expect(failure.kind).toBe(kind);
    expect(textIn(failure.text, createTranslations()("zh-CN")).replace(url, "SITE")).toBe(text);
  } finally {
    client.close();
  }
});
