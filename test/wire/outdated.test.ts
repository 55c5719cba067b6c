import { createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";
import { type FrontedSite, startFront } from "./upstream.ts";

interface Row {
  readonly key: string;
  readonly value: string;
  readonly etag?: string;
}

/** The outcome of a page's save: what was left unchanged, and the message for people. */
interface Saved {
  readonly code: number;
  readonly message: string;
}

const SAVED: Saved = { code: 200, message: "success" };
const except = (...keys: readonly string[]): Saved => ({
  code: 207,
  message:
    `not saved: ${keys.join(", ")}. Another caller has changed them since this page was ` +
    "loaded, and their values stay: reload the page; the other settings were saved",
});

/** Page that reads its group once and sends all rows with each save, as the pages of servers do. */
class Page {
  readonly #base: string;
  readonly #authorization: string;
  readonly #language: string;
  #rows: readonly Row[] = [];

  constructor(base: string, authorization: string, language = "en") {
    this.#base = base;
    this.#authorization = authorization;
    this.#language = language;
  }

  async load(): Promise<this> {
    this.#rows = (await this.#call("list?group=1")).data ?? [];
    return this;
  }

  async save(values: Readonly<Record<string, string>> = {}): Promise<Saved> {
    this.#rows = this.#rows.map((row) => ({ ...row, value: values[row.key] ?? row.value }));
    const { code, message } = await this.#call("save", this.#rows);
    return { code, message };
  }

  async #call(path: string, body?: unknown): Promise<Saved & { readonly data?: readonly Row[] }> {
    const reply = await fetch(`${this.#base}/api/admin/setting/${path}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: {
        authorization: this.#authorization,
        "accept-language": this.#language,
        "content-type": "application/json",
      },
    });
    return reply.json() as Promise<Saved & { readonly data?: readonly Row[] }>;
  }
}

describe("a page that reads its settings once", () => {
  const service = startedForAll(startService);
  const base = () => `http://127.0.0.1:${service.port}`;
  const storedValue = async (key: string) =>
    (await as(service.port).settings.getSetting({ key })).setting?.value;

  test("sets a value back, saves others beside it, and repeats its save", async () => {
    const page = await new Page(base(), TOKEN).load();
    for (const site_title of ["B", "A", "B", "A"]) {
      expect(await page.save({ site_title })).toEqual(SAVED);
      expect(await storedValue("site_title")).toBe(site_title);
    }
    for (const allow_indexed of ["true", "false"]) {
      expect(await page.save({ allow_indexed })).toEqual(SAVED);
      expect(await storedValue("allow_indexed")).toBe(allow_indexed);
    }
    expect(await page.save()).toEqual(SAVED);
  });

  test("is told in its language which newer values of another caller stay", async () => {
    const admin = as(service.port);
    const { text } = await give(admin, ["settings:read", "settings:write"]);
    const page = await new Page(base(), text).load();
    const chinese = await new Page(base(), text, "zh-CN").load();
    await admin.settings.saveSettings({ settings: [{ key: "robots_txt", value: "newer" }] });
    expect(await page.save({ site_title: "mine" })).toEqual(except("robots_txt"));
    expect(await storedValue("robots_txt")).toBe("newer");
    expect(await storedValue("site_title")).toBe("mine");
    expect((await chinese.save()).message).toMatch(/^未保存：robots_txt/);
    expect(await page.save({ robots_txt: "typed" })).toEqual(SAVED);
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
  let front: FrontedSite;

  beforeAll(async () => {
    front = await startFront();
  });

  afterAll(() => front.stop());

  test("sets a value back, and is told which newer values stay", async () => {
    const page = await new Page(front.url, await front.login()).load();
    for (const site_title of ["B", "A"]) {
      expect(await page.save({ site_title })).toEqual(SAVED);
      expect(front.site.value("site_title")).toBe(site_title);
    }
    const body = [{ key: "site_title", value: "C" }];
    await front.call("POST", "/api/admin/setting/save", { token: TOKEN, body });
    expect(await page.save({ robots_txt: "mine" })).toEqual(except("site_title"));
    expect(front.site.value("site_title")).toBe("C");
    expect(front.site.value("robots_txt")).toBe("mine");
  });
});
