import { beforeAll, describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { PUBLIC_MEMBERS } from "./case/public.ts";
import { allOfGroups, wholeList } from "./case/setting-list.ts";
import { type RestCase, refuses, runRestCase, STATUS_MODES, succeeds } from "./rest-case.ts";
import { startService, TOKEN, VERSION } from "./service.ts";
import { http1Sender, type SendHttp } from "./transport/http.ts";

const DRIVER = "/api/admin/driver";
const SETTING = "/api/admin/setting";
const JSON_TYPE = { "content-type": "application/json" };
const AXIOS_TYPE = { "content-type": "application/json;charset=utf-8" };

const item = (members: object): unknown => expect.objectContaining(members);
const list = (...members: object[]): unknown => members.map(item);
const post = (body?: unknown, headers = {}) => ({ method: "POST", body, headers });
const save = (name: string, body: unknown, headers = {}): RestCase =>
  succeeds(name, `${SETTING}/save`, post(body, headers), null);
const reads = (name: string, key: string, value: string): RestCase =>
  succeeds(name, `${SETTING}/get?key=${key}`, {}, item({ key, value }));

const whole = { help: "", type: "string", options: "", group: 1, flag: 0 };

/** Run in order on one service: some depend on earlier ones. */
const cases: readonly RestCase[] = [
  // Authorization in the form that the pages send.
  succeeds("the bare token is accepted", `${DRIVER}/names`, {}, expect.arrayContaining(["Local"])),
  succeeds(
    "Bearer is accepted",
    `${DRIVER}/names`,
    { headers: { authorization: `Bearer ${TOKEN}` } },
    expect.arrayContaining(["Local"]),
  ),
  succeeds(
    "a guest's empty header is accepted for public settings",
    "/api/public/settings",
    { headers: { authorization: "" } },
    item({ version: VERSION }),
  ),
  succeeds(
    "a stale token is accepted for public settings",
    "/api/public/settings",
    { headers: { authorization: "stale" } },
    item({ version: VERSION }),
  ),
  refuses(
    "a guest's empty header is refused elsewhere",
    `${SETTING}/list`,
    { headers: { authorization: "" } },
    401,
    /missing token: send the admin token in the header/,
  ),
  refuses(
    "the token is not accepted as a query parameter",
    `${SETTING}/list?authorization=${TOKEN}&token=${TOKEN}`,
    { headers: { authorization: "" } },
    401,
    /missing/,
  ),

  // Lists of settings.
  succeeds("group selects one group", `${SETTING}/list?group=7`, {}, allOfGroups(7)),
  succeeds("groups selects several", `${SETTING}/list?groups=5,0`, {}, allOfGroups(0, 5)),
  succeeds(
    "the comma of groups may be escaped",
    `${SETTING}/list?groups=5%2C0`,
    {},
    allOfGroups(0, 5),
  ),
  succeeds("groups precedes group", `${SETTING}/list?group=1&groups=5`, {}, allOfGroups(5)),
  succeeds(
    "groups precedes group in any order",
    `${SETTING}/list?groups=5&group=1`,
    {},
    allOfGroups(5),
  ),
  succeeds("an empty groups is absent", `${SETTING}/list?groups=&group=7`, {}, allOfGroups(7)),
  succeeds("an empty group is absent: all", `${SETTING}/list?group=`, {}, wholeList()),
  succeeds("neither: all", `${SETTING}/list`, {}, wholeList()),
  succeeds("an unknown group is empty", `${SETTING}/list?group=4711`, {}, []),
  succeeds("a negative group is empty", `${SETTING}/list?groups=-3`, {}, []),
  refuses(
    "a group that is not an integer is refused by name",
    `${SETTING}/list?group=x`,
    {},
    400,
    /"x"/,
  ),
  refuses(
    "a part of groups that is not an integer is refused by name",
    `${SETTING}/list?groups=5,b`,
    {},
    400,
    /"b"/,
  ),
  refuses("group accepts one group", `${SETTING}/list?group=1,2`, {}, 400, /"1,2"/),
  refuses("a group is a whole number", `${SETTING}/list?group=1.5`, {}, 400, /"1.5"/),
  refuses("a group has 32 bits", `${SETTING}/list?group=4294967296`, {}, 400, /"4294967296"/),
  succeeds(
    "unknown parameters are ignored",
    `${SETTING}/list?group=7&x=%20&page`,
    {},
    allOfGroups(7),
  ),

  // One setting, and several.
  succeeds(
    "key selects one setting",
    `${SETTING}/get?key=hide_files`,
    {},
    item({ key: "hide_files", group: 4, flag: 0 }),
  ),
  succeeds(
    "keys selects several, in the requested order",
    `${SETTING}/get?keys=logo,site_title`,
    {},
    list({ key: "logo" }, { key: "site_title" }),
  ),
  succeeds("one key in keys is an array", `${SETTING}/get?keys=logo`, {}, list({ key: "logo" })),
  succeeds(
    "the comma of keys may be escaped",
    `${SETTING}/get?keys=logo%2Cfavicon`,
    {},
    list({ key: "logo" }, { key: "favicon" }),
  ),
  succeeds(
    "key precedes keys",
    `${SETTING}/get?keys=logo&key=favicon`,
    {},
    item({ key: "favicon" }),
  ),
  succeeds("an empty key is absent", `${SETTING}/get?key=&keys=logo`, {}, list({ key: "logo" })),
  succeeds("an empty keys is absent", `${SETTING}/get?keys=&key=logo`, {}, item({ key: "logo" })),
  refuses("a request with neither is refused", `${SETTING}/get`, {}, 400, /key/),
  refuses("a request with both empty is refused", `${SETTING}/get?key=&keys=`, {}, 400, /key/),
  refuses("an unknown key is named", `${SETTING}/get?key=nope`, {}, 404, /"nope"/),
  refuses(
    "an unknown key among others is named",
    `${SETTING}/get?keys=logo,nope`,
    {},
    404,
    /"nope"/,
  ),

  // Drivers.
  succeeds(
    "the list is an object of templates",
    `${DRIVER}/list`,
    {},
    item({ Local: item({ additional: expect.any(Array) }) }),
  ),
  succeeds(
    "a driver by its name",
    `${DRIVER}/info?driver=Local`,
    {},
    item({ config: item({ name: "Local" }) }),
  ),
  succeeds(
    "a space as %20",
    `${DRIVER}/info?driver=115%20Cloud`,
    {},
    item({ config: item({ name: "115 Cloud" }) }),
  ),
  succeeds(
    "a space as +",
    `${DRIVER}/info?driver=115+Cloud`,
    {},
    item({ config: item({ name: "115 Cloud" }) }),
  ),
  refuses("an unknown driver is named", `${DRIVER}/info?driver=Nope`, {}, 404, /Nope/),
  refuses("a missing driver name is not found", `${DRIVER}/info`, {}, 404, /driver/),
  refuses("an empty driver name is not found", `${DRIVER}/info?driver=`, {}, 404, /driver/),

  // Saving.
  save("a save may have only key and value", [{ key: "site_title", value: "Pier" }]),
  reads("the value is read back", "site_title", "Pier"),
  save("a save may have whole items, with members of newer servers", [
    { key: "site_title", value: "Jetty", ...whole, index: 3, future: { deep: [1] } },
  ]),
  reads("the items are read back", "site_title", "Jetty"),
  save("a save may have items as this server lists them", [
    {
      key: "site_title",
      value: "Mole",
      ...whole,
      index: 1,
      secret: false,
      managed: false,
      default: "x",
      format: "",
      revision: "12",
    },
  ]),
  save(
    "a save with the Content-Type of the pages",
    [{ key: "site_title", value: "Dock" }],
    AXIOS_TYPE,
  ),
  save("a save without Content-Type", '[{"key":"site_title","value":"Basin"}]'),
  reads("the value of a save without Content-Type is read back", "site_title", "Basin"),
  save("an empty array saves nothing", []),
  save("no body saves nothing", undefined),
  save("an empty body with the JSON type saves nothing", "", JSON_TYPE),
  save("null saves nothing", "null", JSON_TYPE),
  reads("nothing has changed", "site_title", "Basin"),
  refuses(
    "an invalid value is refused by name",
    `${SETTING}/save`,
    post([{ key: "default_page_size", value: "x" }]),
    400,
    /^default_page_size: /,
  ),
  refuses(
    "a duplicate key is refused",
    `${SETTING}/save`,
    post([
      { key: "logo", value: "a" },
      { key: "logo", value: "b" },
    ]),
    400,
    /logo occurs twice/,
  ),
  save("a changed readonly setting is skipped", [{ key: "version", value: "v1.0.0" }]),
  save("an unchanged readonly setting is accepted", [{ key: "version", value: VERSION, flag: 2 }]),
  refuses("an empty token is refused", `${SETTING}/save`, post([{ key: "token" }]), 400, /token/),
  refuses(
    "a token of an empty text is refused",
    `${SETTING}/save`,
    post([{ key: "token", value: "" }]),
    400,
    /32/,
  ),
  save("an unknown key is private", [{ key: "rest_custom", value: "1" }]),
  succeeds(
    "the private setting is not public",
    "/api/public/settings",
    {},
    expect.not.objectContaining({ rest_custom: "1" }),
  ),
  save("an unknown key may be public", [{ key: "rest_open", value: "1", flag: 0 }]),
  succeeds("the public setting is public", "/api/public/settings", {}, item({ rest_open: "1" })),

  // Deleting.
  refuses(
    "a setting in use is not deleted",
    `${SETTING}/delete?key=site_title`,
    post(),
    400,
    /site_title/,
  ),
  refuses("an unknown setting is not found", `${SETTING}/delete?key=nope`, post(), 404, /"nope"/),
  refuses("a missing key is not found", `${SETTING}/delete`, post(), 404, /setting/),
  save("a setting can be made deprecated", [
    { key: "rest_custom", value: "1", flag: 3 },
    { key: "rest_open", value: "1", flag: 3 },
  ]),
  succeeds(
    "a deprecated setting is deleted, with no body and no Content-Type",
    `${SETTING}/delete?key=rest_custom`,
    post(),
    null,
  ),
  succeeds(
    "a deprecated setting is deleted with an empty body of the JSON type",
    `${SETTING}/delete?key=rest_open`,
    post("", JSON_TYPE),
    null,
  ),
  refuses("the deleted setting is gone", `${SETTING}/get?key=rest_custom`, {}, 404, /rest_custom/),
  save("a body of a delete is ignored", [{ key: "rest_gone", value: "1", flag: 3 }]),
  succeeds(
    "any body of a delete is ignored",
    `${SETTING}/delete?key=rest_gone`,
    post({ key: "site_title" }),
    null,
  ),

  // Download managers: refusals before a call to them.
  refuses(
    "aria2 needs an address and a secret",
    `${SETTING}/set_aria2`,
    post({}),
    400,
    /"uri" is missing \(and 1 more\)/,
  ),
  refuses("aria2 without a body", `${SETTING}/set_aria2`, post(), 400, /"uri" is missing/),
  refuses(
    "a missing secret",
    `${SETTING}/set_aria2`,
    post({ uri: "http://127.0.0.1:9/" }),
    400,
    /"secret" is missing/,
  ),
  refuses(
    "an address of another scheme",
    `${SETTING}/set_aria2`,
    post({ uri: "ftp://127.0.0.1/", secret: "" }),
    400,
    /http:\/\/, https:\/\/, ws/,
  ),
  refuses("an empty address", `${SETTING}/set_aria2`, post({ uri: "", secret: "" }), 400, /./),
  refuses("qBittorrent needs an address", `${SETTING}/set_qbit`, post({}), 400, /"url" is missing/),
  refuses(
    "a negative seeding time",
    `${SETTING}/set_qbit`,
    post({ url: "http://127.0.0.1:9/", seedtime: "-1" }),
    400,
    /seedtime/,
  ),
  refuses(
    "a seeding time with a fraction",
    `${SETTING}/set_qbit`,
    post({ url: "http://127.0.0.1:9/", seedtime: "1.5" }),
    400,
    /seedtime/,
  ),
  refuses(
    "a seeding time that is not a number",
    `${SETTING}/set_qbit`,
    post({ url: "http://127.0.0.1:9/", seedtime: "long" }),
    400,
    /seedtime/,
  ),
  refuses(
    "an empty seeding time is absent, so that the address is called",
    `${SETTING}/set_qbit`,
    post({ url: "http://127.0.0.1:9/", seedtime: "" }),
    503,
    /connect failed/,
  ),
  refuses(
    "a seeding time as text is valid, so that the address is called",
    `${SETTING}/set_qbit`,
    post({ url: "http://127.0.0.1:9/", seedtime: "0" }),
    503,
    /^qBittorrent at http:\/\/127\.0\.0\.1:9\/?: connect failed/,
  ),
  refuses(
    "a seeding time as a JSON number is valid",
    `${SETTING}/set_qbit`,
    post({ url: "http://127.0.0.1:9/", seedtime: 90 }),
    503,
    /connect failed/,
  ),

  // The token, at the end, because it changes.
  succeeds(
    "reset_token is accepted without body and Content-Type",
    `${SETTING}/reset_token`,
    post(),
    expect.stringMatching(/^mooring-[\w-]{43}$/),
  ),
  refuses("the old token is refused afterwards", `${SETTING}/list`, {}, 401, /invalid token/),
];

describe.each(STATUS_MODES)("with MOORING_HTTP_STATUS=%s", (mode) => {
  const service = startedForAll(() => startService({ env: { MOORING_HTTP_STATUS: mode } }));
  let send: SendHttp;

  beforeAll(async () => {
    send = http1Sender(service.port);
  });

  test.each(cases.map((one) => [one.name, one] as const))("%s", (_name, one) =>
    runRestCase(one, send, mode),
  );

  test("/ping is bare text, for GET and HEAD", async () => {
    const reply = await send("/ping");
    expect(reply).toMatchObject({ status: 200, text: "pong" });
    expect(reply.headers["content-type"]).toMatch(/^text\/plain/);
    expect(await send("/ping", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  });

  test("the public settings are text, with all members of the contract", async () => {
    const { json } = await send("/api/public/settings");
    const { data } = json as { data: Record<string, unknown> };
    expect(Object.keys(data)).toEqual(expect.arrayContaining([...PUBLIC_MEMBERS]));
    for (const [key, value] of Object.entries(data)) expect(value, key).toBeTypeOf("string");
    const { version } = data;
    expect(version).toMatch(/^v\d+\.\d+\.\d+$/);
  });

  test("no token is in the log", () => {
    expect(service.log()).not.toContain(TOKEN);
    expect(service.log()).not.toMatch(/mooring-[\w-]{43}/);
  });
});
