import type { DescMethodUnary } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { BadRequestSchema, LocalizedMessageSchema } from "../../gen/google/rpc/error_details_pb.js";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { http1Sender, type SendHttp } from "./transport/http.ts";
import { invoke } from "./transport/transport.ts";

const service = startedForAll(startService);
const send: SendHttp = (...sent) => http1Sender(service.port)(...sent);
let transports: Readonly<Record<string, Transport>>;

beforeAll(async () => {
  const baseUrl = `http://127.0.0.1:${service.port}`;
  transports = {
    gRPC: createGrpcTransport({ baseUrl }),
    Connect: createConnectTransport({ baseUrl, httpVersion: "1.1" }),
    "Connect by GET": createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true }),
  };
});

const authorization = TOKEN;
const chinese = { authorization, "accept-language": "zh-CN,zh;q=0.9,en;q=0.5" };

interface Text {
  readonly label: string;
  readonly description: string;
}

async function readTitle(path: string, headers: Record<string, string>) {
  const { json, headers: replyHeaders } = await send(path, {
    headers: { authorization, ...headers },
  });
  return { data: (json as { data: Text }).data, headers: replyHeaders };
}

const TITLE = "/api/admin/setting/get?key=site_title";

describe("over REST", () => {
  // Every header: test/messages/language.test.ts.
  test.each<[query: string, headers: Record<string, string>, language: string, label: string]>([
    ["", chinese, "zh-CN", "站点名称"],
    ["", { "accept-language": "tlh, de;q=0.5" }, "en", "Site title"],
    ["&hl=zh-CN", {}, "zh-CN", "站点名称"],
    ["&hl=en", chinese, "en", "Site title"],
  ])("with %j and %j texts are in %s, with Content-Language", async (query, sent, hl, label) => {
    const { data, headers } = await readTitle(TITLE + query, sent);
    expect(data.label).toBe(label);
    expect(headers).toMatchObject({ "content-language": hl, vary: "Accept-Language" });
  });

  test("each language has its own entity tag, in every coding", async () => {
    const path = "/api/admin/driver/list";
    const tags = new Set<string>();
    for (const hl of ["en", "zh-CN"])
      for (const coding of ["identity", "gzip", "br"]) {
        const ask = () =>
          send(`${path}?hl=${hl}`, { headers: { authorization, "accept-encoding": coding } });
        // A compressed variant is sent once it is made.
        await expect
          .poll(async () => (await ask()).headers["content-encoding"] ?? "identity")
          .toBe(coding);
        const { headers } = await ask();
        const tag = String(headers["etag"]);
        tags.add(tag);
        expect(headers["vary"]).toBe("Accept-Encoding, Accept-Language");
        const again = await send(`${path}?hl=${hl}`, {
          headers: { authorization, "if-none-match": tag },
        });
        expect(again.status).toBe(304);
        expect(again.headers["content-language"]).toBe(hl);
        const other = hl === "en" ? "zh-CN" : "en";
        const foreign = await send(`${path}?hl=${other}`, {
          headers: { authorization, "if-none-match": tag },
        });
        expect(foreign.status).toBe(200);
      }
    expect(tags.size).toBe(6);
  });

  test("a save accepts the tag of a read in any language", async () => {
    const save = (tag: string, value: string) =>
      send("/api/admin/setting/save", {
        method: "POST",
        body: [{ key: "site_title", value }],
        headers: { authorization, "if-match": tag },
      });
    const first = await readTitle(TITLE, chinese);
    expect((await save(String(first.headers["etag"]), "A")).json).toMatchObject({ code: 200 });
    expect((await save(String(first.headers["etag"]), "B")).json).toMatchObject({ code: 409 });
  });

  test("an error has its English text unchanged, with the Chinese one beside it", async () => {
    const { json } = await send("/api/admin/driver/info?driver=Sftp", { headers: chinese });
    expect(json).toMatchObject({
      code: 404,
      message: expect.stringContaining("not found"),
      localized_message: { locale: "zh-CN", message: expect.stringContaining("没有驱动 [Sftp]") },
    });
    const english = await send("/api/admin/driver/info?driver=Sftp", {
      headers: { authorization },
    });
    expect(Object.keys(english.json as object)).toEqual(["code", "message", "data"]);
    const refused = await send("/api/admin/driver/names", {
      headers: { "accept-language": "zh-CN" },
    });
    expect(refused.json).toMatchObject({
      code: 401,
      localized_message: { message: expect.stringContaining("管理员令牌") },
    });
  });

  test("the basic view has the members for programs, without texts for people", async () => {
    const read = async (query: string) => {
      const { json } = await send(`/api/admin/driver/list${query}`, { headers: { authorization } });
      return (json as { data: Record<string, { common: object[]; additional: object[] }> }).data;
    };
    const [basic, full] = await Promise.all([read("?view=basic"), read("?view=full")]);
    expect(full).toEqual(await read(""));
    expect(JSON.stringify(basic).length).toBeLessThan(0.6 * JSON.stringify(full).length);
    for (const [name, driver] of Object.entries(full)) {
      const bare = (item: object) => ({
        ...item,
        help: "",
        description: "",
        label: "",
        option_labels: [],
      });
      expect(basic[name]).toEqual({
        ...driver,
        label: "",
        guide: "",
        common: driver.common.map(bare),
        additional: driver.additional.map(bare),
      });
    }
    const wrong = await send("/api/admin/driver/list?view=tiny", { headers: { authorization } });
    expect(wrong.json).toMatchObject({ code: 400 });
  });

  test("a driver's JSON Schema is in the language too", async () => {
    const { json, headers } = await send("/api/admin/driver/schema?driver=139Yun&hl=zh-CN", {
      headers: { authorization },
    });
    const { properties } = (json as { data: { properties: Record<string, object> } }).data;
    expect(properties["cloud_id"]).toMatchObject({
      title: "云 ID",
      description: expect.stringMatching(/仅当 type 为 family 或 group 时有效。$/),
    });
    expect(properties["custom_upload_part_size"]).toMatchObject({ "x-unit": "字节" });
    expect(headers["content-language"]).toBe("zh-CN");
  });
});

describe.each(["gRPC", "Connect", "Connect by GET"])("over %s", (name) => {
  const settings = () => createClient(SettingService, transports[name] as Transport);
  const drivers = () => createClient(DriverService, transports[name] as Transport);

  test("accept-language sets the language, and language_code precedes it", async () => {
    const read = (headers: Record<string, string>, languageCode = "") => {
      let language: string | null = "";
      const onHeader = (replyHeaders: Headers): void => {
        language = replyHeaders.get("content-language");
      };
      return drivers()
        .getDriver({ driver: "S3", languageCode }, { headers, onHeader })
        .then((reply) => ({ reply, language }));
    };
    const { reply, language } = await read(chinese);
    expect(reply).toMatchObject({ languageCode: "zh-CN" });
    expect(reply.info?.common[0]).toMatchObject({ label: "挂载路径" });
    expect(language).toBe("zh-CN");
    expect((await read(chinese, "en")).reply).toMatchObject({ languageCode: "en" });
    expect((await read({ authorization }, "zh")).reply.info?.label).toBe("S3");
    expect((await read({ authorization })).reply.info?.common[0]?.label).toBe("Mount path");
  });

  test("reasons of the program are in the language in the history, those of callers unchanged", async () => {
    const reason = "start of the program";
    const first = await settings().saveSettings(
      { settings: [{ key: "site_title", value: `Reasoned by ${name}` }], reason },
      { headers: { authorization } },
    );
    const reasonsIn = async (headers: Record<string, string>) => {
      const { revisions } = await settings().listRevisions({ pageSize: 1_000 }, { headers });
      const { revision } = await settings().getRevision({ revision: 1n }, { headers });
      return [
        revisions.find(({ revision }) => revision === first.revision)?.reason,
        revisions.find(({ transport }) => transport === "start")?.reason,
        revision?.reason,
      ];
    };
    expect(await reasonsIn(chinese)).toEqual([reason, "程序启动", "程序启动"]);
    expect(await reasonsIn({ authorization })).toEqual([reason, reason, reason]);
  });

  test("settings have unit, bounds, label and families", async () => {
    const { setting } = await settings().getSetting(
      { key: "link_expiration" },
      { headers: chinese },
    );
    expect(setting).toMatchObject({
      label: "链接有效期",
      groupLabel: "全局",
      unit: "小时",
      fraction: false,
      min: 0,
      families: ["openlist", "alist"],
    });
  });

  test("errors have the message and each violation in the requested language", async () => {
    const save = (headers: Record<string, string>) =>
      settings()
        .saveSettings({ settings: [{ key: "sign_all", value: "yes" }] }, { headers })
        .then(
          () => undefined,
          (error: unknown) => ConnectError.from(error),
        );
    const error = await save(chinese);
    expect(error?.code).toBe(Code.InvalidArgument);
    expect(error?.rawMessage).toMatch(/^sign_all: must be true or false/);
    const message = 'sign_all：必须是 true 或 false，不能是 "yes"';
    expect(error?.findDetails(LocalizedMessageSchema)).toMatchObject([
      { locale: "zh-CN", message },
    ]);
    expect(error?.findDetails(BadRequestSchema)[0]?.fieldViolations).toMatchObject([
      { field: "settings[0].value", localizedMessage: { locale: "zh-CN", message } },
    ]);
    expect((await save({ authorization }))?.findDetails(LocalizedMessageSchema)).toEqual([]);
  });
});

test("a watch begins with settings in the requested language", async () => {
  for (const name of ["gRPC", "Connect"]) {
    const client = createClient(SettingService, transports[name] as Transport);
    const end = new AbortController();
    const stream = client.watchSettings({}, { headers: chinese, signal: end.signal });
    for await (const { event } of stream) {
      const settings = event.case === "snapshot" ? event.value.settings : [];
      expect(settings.find(({ key }) => key === "site_title")?.label).toBe("站点名称");
      break;
    }
    end.abort();
  }
});

test("a GET of Connect has Vary", async () => {
  const path = "/mooring.v1.DriverService/GetDriver?connect=v1&encoding=json&message=";
  const { headers } = await send(`${path}${encodeURIComponent('{"driver":"S3"}')}`, {
    headers: chinese,
  });
  expect(headers).toMatchObject({
    vary: "Accept-Encoding, Accept-Language",
    "content-language": "zh-CN",
  });
});

test("a deployment of a family gets its drivers and settings", async () => {
  const own = await startService({ env: { MOORING_FAMILY: "alist" } });
  onTestFinished(own.stop);
  const ask = http1Sender(own.port);
  const names = await ask("/api/admin/driver/names", { headers: { authorization } });
  const offered = readBuiltIn({ offer: "alist" }).drivers.map(({ config }) => config.name);
  expect((names.json as { data: string[] }).data.toSorted()).toEqual(offered.toSorted());
  expect(offered.length).toBeLessThan(readBuiltIn({ offer: "all" }).drivers.length);
  const { json } = await ask("/api/admin/setting/list?groups=12", { headers: { authorization } });
  expect((json as { data: { key: string }[] }).data.map(({ key }) => key)).toContain("frp_enabled");
  const title = await ask(TITLE, { headers: { authorization } });
  expect(title.json).toMatchObject({ data: { value: "AList" } });
});

test("the start page is in the language of the browser", async () => {
  const read = async (language: string) => {
    const url = `http://127.0.0.1:${service.port}/`;
    const reply = await fetch(url, { headers: { "accept-language": language } });
    return [await reply.text(), reply.headers.get("content-language"), reply.headers.get("vary")];
  };
  const [chinesePage, ...headers] = await read("zh-TW,en;q=0.5");
  expect(headers).toEqual(["zh-CN", "Accept-Language"]);
  for (const text of ['<html lang="zh-CN">', "服务已就绪。", ">控制台</a>", ">文档</a>"])
    expect(chinesePage).toContain(text);
  expect(chinesePage?.replace(/OpenAPI|REST|Mooring|AList|OpenList/g, "")).not.toMatch(
    />[^<]*[A-Za-z]{3,}[^<]*<\/(?:p|a|h2)>/,
  );
  const [englishPage, spoken] = await read("de");
  expect(spoken).toBe("en");
  expect(englishPage).toContain("It is ready.");
});

/** A GET transport has none of the calls below. */
const posting = sharedPortTransports.filter(({ name }) => name !== "Connect GET");

describe.each(posting)("the messages in replies over $name", ({ name, open }) => {
  const transport = startedForAll(() => open(service));

  /** The reply's message as JSON, in Chinese. */
  async function read(desc: DescMethodUnary, request: object): Promise<string> {
    return JSON.stringify(await invoke(transport, desc, request, chinese));
  }

  test("are Chinese for an invalid driver's configuration", async () => {
    const said = await read(DriverService.method.validateDriverConfig, {
      driver: "S3",
      values: { mount_path: "/a", bucket: 1, region: "x".repeat(100_000), other: true },
    });
    for (const sentence of ["必填", "必须是文本，不能是数", "超过了", "不是该驱动的配置项"])
      expect(said).toContain(sentence);
    expect(said).not.toMatch(/is required|must be|is not an/);
  });

  test("are Chinese for items that a save, a rollback and an import skip", async () => {
    const { method } = SettingService;
    const save = (value: string) =>
      createClient(SettingService, transports["gRPC"] as Transport).saveSettings(
        { settings: [{ key: "aria2_secret", value }] },
        { headers: { authorization } },
      );
    const { revision } = await save("one");
    await save("two");
    const settings = [{ key: "version", value: "v0" }];
    // REST only confirms the save, for legacy clients.
    if (!name.startsWith("REST"))
      expect(await read(method.saveSettings, { settings })).toContain("由程序设置");
    const back = { to: revision, only: ["aria2_secret"] };
    expect(await read(method.rollback, back)).toContain("历史不保存它的值");
    const document = { format: "mooring-archive", version: 1, settings };
    expect(await read(BackupService.method.importArchive, { document })).toContain(
      "属于备份所在的服务器",
    );
  });
});

/** Entries with members of a wrong type or an unknown name, with the note of their preview. */
const wrongEntries: readonly (readonly [part: string, entry: object, note: string])[] = [
  ["mounts", { name: "a", mountPath: "/a", path: "/a", driver: "Local" }, "存储没有"],
  ["mounts", { name: "a", path: 1, driver: "Local" }, "path 必须是文本"],
  ["mounts", { name: "a", path: "/a", driver: "Local", disabled: 1 }, "disabled 必须是"],
  ["mounts", { name: "a", path: "/a", driver: "Local", content: "x" }, "adopt 或 overwrite"],
  ["mounts", { name: "a", path: "/a", driver: "Local", sites: [] }, "名称列表、all 或 none"],
  ["mounts", { name: "a", path: "/a", driver: "Local", config: [] }, "config 必须是映射"],
  ["mounts", { name: "a", path: "/a", driver: "Local", config: { root: {} } }, "文本、数字"],
  ["mounts", { name: "a", path: "/a", driver: "Local", overrides: { b: { path: 1 } } }, "是文本"],
  ["rules", { name: "/a", hidden: "x" }, "文件夹规则没有"],
  ["sites", { name: "a", url: "http://a.example", include: "x" }, "文本列表"],
  ["sites", { name: "a", url: "http://a.example", mode: "x" }, "之一"],
  ["webhooks", { name: "a", url: "http://a.example", sites: {} }, "文本列表"],
  ["principals", { name: "a", tokens: "x" }, "列表"],
];

test.each(wrongEntries)(
  "the note on an invalid entry of %s is Chinese: %j",
  async (part, entry, note) => {
    const backup = createClient(BackupService, transports["gRPC"] as Transport);
    const document = { format: "mooring-archive", version: 1, [part]: [entry] };
    const request = { document: document as never, dryRun: true };
    const { results } = await backup.importArchive(request, { headers: chinese });
    expect(results.map((result) => result.note).join()).toContain(note);
    expect(results.map((result) => result.note).join()).not.toMatch(/must be|has no/);
  },
);

type Call = (settings: Client<typeof SettingService>) => Promise<unknown>;
const save =
  (key: string, value: string): Call =>
  (settings) =>
    settings.saveSettings({ settings: [{ key, value }] }, { headers: chinese });
const aria2 =
  (uri: string, secret = ""): Call =>
  (settings) =>
    settings.setAria2({ uri, secret }, { headers: chinese });

/** Parts of the messages for values in an invalid format and managers that cannot be connected. */
test.each<[said: string, call: Call]>([
  ["必须是 CSS 颜色", save("main_color", "red;")],
  ["ldap://host:389", save("ldap_server", "a b")],
  ["LDAP 过滤器", save("ldap_user_search_filter", "uid")],
  ["第 1 行有 ( 而没有对应的 )", save("privacy_regs", "(a")],
  ["重复 {n,m} 的第二个数字较小", save("privacy_regs", "a{3,2}")],
  ["用户名或密码", save("aria2_uri", "http://user:pa/ss@host")],
  ["连接被拒绝", aria2("http://127.0.0.1:9/jsonrpc")],
  ["之一开头的地址", aria2("ftp://127.0.0.1")],
  ["超过 1024 个字符", aria2("http://127.0.0.1:9", "x".repeat(2_000))],
  [
    "启用了 Web UI",
    (of) => of.setQbittorrent({ url: "http://a:b@127.0.0.1:9" }, { headers: chinese }),
  ],
])("the whole message of a problem is Chinese: %s", async (said, call) => {
  const settings = createClient(SettingService, transports["gRPC"] as Transport);
  const error = ConnectError.from(await call(settings).catch((failure: unknown) => failure));
  const [localized] = error.findDetails(LocalizedMessageSchema);
  expect(localized?.message).toContain(said);
  expect(localized?.message).not.toMatch(/must|write|Check|connect /);
});

describe("a site", () => {
  const site = startedForAll(startStandIn);

  test("has notes on differences and the reason of a failure in Chinese", async () => {
    const sites = createClient(SiteService, transports["gRPC"] as Transport);
    const given = { name: "harbour", url: site.url, token: site.token() };
    await sites.createSite({ site: given }, { headers: chinese });
    const notes = async (headers: Record<string, string>) => {
      const { differences } = await sites.compareSite({ name: "harbour", all: true }, { headers });
      return Object.fromEntries(differences.map(({ key, note }) => [key, note]));
    };
    expect(await notes({ authorization })).toMatchObject({
      site_title: "often differs from site to site",
    });
    const said = await notes(chinese);
    expect(said).toMatchObject({ site_title: "各站点往往不同" });
    for (const note of Object.values(said)) expect(note).toMatch(/^$|\p{Script=Han}/u);
    const unreachable = { name: "gone", url: "http://127.0.0.1:1", token: "t" };
    const failure = await sites
      .createSite({ site: unreachable }, { headers: chinese })
      .catch(String);
    expect(failure).toMatch(/^ConnectError: .* connection refused$/);
    await expect(sites.createSite({ site: unreachable }, { headers: chinese })).rejects.toSatisfy(
      (error: ConnectError) =>
        /^无法连接 .*：那里没有服务在监听$/.test(
          error.findDetails(LocalizedMessageSchema)[0]?.message ?? "",
        ),
    );
  });
});
