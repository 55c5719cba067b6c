import { createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";
import { startFront } from "./upstream.ts";

interface Row {
  readonly key: string;
  readonly value: string;
  readonly etag?: string;
}

const SAVED = { code: 200, message: "success" };
const except = (...keys: readonly string[]) => ({
  code: 207,
  message:
    `not saved: ${keys.join(", ")}. Another caller has changed them since this page was ` +
    "loaded, and their values stay: reload the page; the other settings were saved",
});

/** Reads a group once. @returns a function that saves all its rows, as the pages of servers do. */
async function openPage(base: string, authorization: string, language = "en") {
  const headers = {
    authorization,
    "accept-language": language,
    "content-type": "application/json",
  };
  const url = `${base}/api/admin/setting`;
  const listed = await fetch(`${url}/list?group=1`, { headers });
  let { data: rows } = (await listed.json()) as { data: readonly Row[] };
  return async (values: Readonly<Record<string, string>> = {}) => {
    rows = rows.map((row) => ({ ...row, value: values[row.key] ?? row.value }));
    const sent = { method: "POST", headers, body: JSON.stringify(rows) };
    const { code, message } = (await (await fetch(`${url}/save`, sent)).json()) as typeof SAVED;
    return { code, message };
  };
}

// Which values are outdated: test/settings/stale.test.ts.
describe("a page that reads its settings once", () => {
  const service = startedForAll(startService);
  const base = () => `http://127.0.0.1:${service.port}`;
  const storedValue = async (key: string) =>
    (await as(service.port).settings.getSetting({ key })).setting?.value;

  test("is told in its language which newer values of another caller stay", async () => {
    const admin = as(service.port);
    const { text } = await give(admin, ["settings:read", "settings:write"]);
    const savePage = await openPage(base(), text);
    const saveChinese = await openPage(base(), text, "zh-CN");
    await admin.settings.saveSettings({ settings: [{ key: "robots_txt", value: "newer" }] });
    expect(await savePage({ site_title: "mine" })).toEqual(except("robots_txt"));
    expect(await storedValue("robots_txt")).toBe("newer");
    expect(await storedValue("site_title")).toBe("mine");
    expect((await saveChinese()).message).toMatch(/^未保存：robots_txt/);
    expect(await savePage({ robots_txt: "typed" })).toEqual(SAVED);
    expect(await storedValue("robots_txt")).toBe("typed");
    admin.close();
  });

  test.each([
    ["Connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
    ["gRPC-Web", (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
    ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ])("over %s finds them in the reply, and in that of a dry run", async (_, transport) => {
    const admin = as(service.port);
    const { text } = await give(admin, ["settings:read", "settings:write"]);
    const client = createClient(SettingService, transport(base()));
    const headers = { authorization: text };
    const read = async () =>
      (await client.listSettings({ groups: [1] }, { headers })).settings.map(
        ({ key, value, etag }) => ({ key, value, etag }),
      );
    const page = await read();
    const value = `newer than ${page.find(({ key }) => key === "announcement")?.etag}`;
    await admin.settings.saveSettings({ settings: [{ key: "announcement", value }] });
    for (const dryRun of [true, false]) {
      const { skipped, notice } = await client.saveSettings(
        { settings: page, dryRun },
        { headers },
      );
      expect(skipped).toMatchObject([
        { key: "announcement", reason: expect.stringMatching(/another caller in revision \d+/) },
      ]);
      expect(notice).toMatch(/^not saved: announcement\. /);
      expect(notice.endsWith("the other settings were saved")).toBe(!dryRun);
    }
    expect(await storedValue("announcement")).toBe(value);
    const back = await client.saveSettings({ settings: await read() }, { headers });
    expect(back).toMatchObject({ skipped: [], notice: "" });
    admin.close();
  });
});

describe("the page of a server behind Mooring", () => {
  const front = startedForAll(startFront);

  test("sets a value back, and is told which newer values stay", async () => {
    const savePage = await openPage(front.url, await front.login());
    for (const site_title of ["B", "A"]) {
      expect(await savePage({ site_title })).toEqual(SAVED);
      expect(front.site.value("site_title")).toBe(site_title);
    }
    const body = [{ key: "site_title", value: "C" }];
    await front.call("POST", "/api/admin/setting/save", { token: TOKEN, body });
    expect(await savePage({ robots_txt: "mine" })).toEqual(except("site_title"));
    expect(front.site.value("site_title")).toBe("C");
    expect(front.site.value("robots_txt")).toBe("mine");
  });
});
