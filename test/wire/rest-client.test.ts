import { beforeAll, describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { allOfGroups, wholeList } from "./case/setting-list.ts";
import {
  posts,
  type RestCase,
  reads,
  refuses,
  runRestCase,
  STATUS_MODES,
  succeeds,
} from "./rest-case.ts";
import { startService, TOKEN, VERSION } from "./service.ts";
import { http1Sender, type SendHttp } from "./transport/http.ts";

const DRIVER = "/api/admin/driver";
const SETTING = "/api/admin/setting";
const PUBLIC = "/api/public/settings";
const AXIOS_TYPE = { "content-type": "application/json;charset=utf-8" };
const GUEST = { headers: { authorization: "" } };
const item = (members: object): unknown => expect.objectContaining(members);
const list = (...keys: string[]): unknown => keys.map((key) => item({ key }));
const driver = (name: string): unknown => item({ config: item({ name }) });
const post = (body?: unknown, headers = {}) => ({ method: "POST", body, headers });
const save = (name: string, body: unknown, headers = {}): RestCase =>
  succeeds(name, `${SETTING}/save`, post(body, headers), null);
const saved = (name: string, key: string, value: string): RestCase[] =>
  reads(`${SETTING}/get`, [[name, `?key=${key}`, item({ key, value })]]);
const whole = { help: "", type: "string", options: "", group: 1, flag: 0 };
/** Members of an item as this server lists it. */
const more = { index: 1, secret: false, managed: false, default: "x", format: "", revision: "12" };
const url = "http://127.0.0.1:9/";
const names = expect.arrayContaining(["Local"]);

/** Run in order on one service: some depend on earlier ones. */
const cases: readonly RestCase[] = [
  // Authorization in the form that the pages send.
  succeeds("the bare token is accepted", `${DRIVER}/names`, {}, names),
  succeeds(
    "Bearer is accepted",
    `${DRIVER}/names`,
    { headers: { authorization: `Bearer ${TOKEN}` } },
    names,
  ),
  succeeds("a guest reads public settings", PUBLIC, GUEST, item({ version: VERSION })),
  succeeds(
    "a stale token is accepted for public settings",
    PUBLIC,
    { headers: { authorization: "stale" } },
    item({ version: VERSION }),
  ),
  refuses(
    "a guest's empty header is refused elsewhere",
    `${SETTING}/list`,
    GUEST,
    401,
    /missing token: send the admin token in the header/,
  ),
  refuses(
    "the token is not accepted as a query parameter",
    `${SETTING}/list?authorization=${TOKEN}&token=${TOKEN}`,
    GUEST,
    401,
    /missing/,
  ),
  ...[
    "expected_etag",
    "expected_etg=1",
    "dry_run=",
    "dry_run=1",
    "dryrun",
    "dry-run=true",
    "expectedetag=1",
    "reason",
  ].map((query) =>
    refuses(
      `a save with ?${query} is refused`,
      `${SETTING}/save?${query}`,
      post([{ key: "site_title", value: "not saved" }]),
      400,
      /^query parameter "[\w-]+": (?:a value is missing|expected|no such parameter; did you mean)/,
    ),
  ),
  refuses(
    "a save with an empty ?expected_etag= is refused",
    `${SETTING}/save?expected_etag=`,
    post([{ key: "site_title", value: "not saved" }]),
    412,
    /is not a state of this database/,
  ),
  refuses(
    "a member of the body in the query is refused",
    `${SETTING}/set_aria2?uri=${url}`,
    post({ uri: url, secret: "" }),
    400,
    /"uri": this field is a member of the body/,
  ),
  ...["Site=harbour", "sites=harbour", "Page_Size=1"].map((query) =>
    refuses(
      `a list with ?${query} is refused: it would not be filtered`,
      `/api/admin/mount/list?${query}`,
      { headers: { authorization: TOKEN } },
      400,
      /no such parameter; did you mean/,
    ),
  ),
  refuses(
    "a member beside its place is refused",
    "/api/admin/mount/save",
    post({ mounts: [{ name: "c", order: 1 }] }),
    400,
    /mounts\[0\]\.order: no such member: items of the driver belong to config/,
  ),
  refuses(
    "a misspelt member of a setting is refused",
    `${SETTING}/save`,
    post([{ key: "site_title", value: "x", expected_etags: "0" }]),
    400,
    /\[0\]\.expected_etags: no such member; did you mean expected_etag/,
  ),
  succeeds(
    "an item as a legacy client sends it is saved",
    `${SETTING}/save`,
    post([
      {
        key: "site_title",
        value: "Harbour",
        help: "",
        type: "string",
        options: "",
        group: 1,
        flag: 0,
        index: 3,
      },
    ]),
    null,
  ),
  refuses(
    "a deletion with ?dry_run is refused, because it has none",
    `${SETTING}/delete?key=site_title&dry_run=true`,
    post(),
    400,
    /DeleteSetting has no dry_run/,
  ),
  succeeds(
    "a save with ?dry_run shows its changes",
    `${SETTING}/save?dry_run&_=1`,
    post([{ key: "site_title", value: "not saved" }]),
    { changes: [item({ key: "site_title", new_value: "not saved" })] },
  ),
  ...reads(`${SETTING}/get`, [
    ["a bare mask_secrets masks", "?key=token&mask_secrets", item({ value: "********" })],
    ["no refused save has saved", "?key=site_title&t=1", item({ key: "site_title" })],
  ]),
  ...reads(`${SETTING}/list`, [
    ["group selects one group", "?group=7", allOfGroups(7)],
    ["groups selects several", "?groups=5,0", allOfGroups(0, 5)],
    ["the comma of groups may be escaped", "?groups=5%2C0", allOfGroups(0, 5)],
    ["groups precedes group", "?group=1&groups=5", allOfGroups(5)],
    ["groups precedes group in any order", "?groups=5&group=1", allOfGroups(5)],
    ["an empty groups is absent", "?groups=&group=7", allOfGroups(7)],
    ["an empty group is absent: all", "?group=", wholeList()],
    ["neither: all", "", wholeList()],
    ["an unknown group is empty", "?group=4711", []],
    ["a negative group is empty", "?groups=-3", []],
    ["a group that is not an integer is refused by name", "?group=x", 400, /"x"/],
    ["a part of groups that is not an integer is refused by name", "?groups=5,b", 400, /"b"/],
    ["group accepts one group", "?group=1,2", 400, /"1,2"/],
    ["a group is a whole number", "?group=1.5", 400, /"1.5"/],
    ["a group has 32 bits", "?group=4294967296", 400, /"4294967296"/],
    ["unknown parameters of a list are ignored", "?group=7&x=%20&page", allOfGroups(7)],
  ]),
  ...reads(`${SETTING}/get`, [
    ["key selects one setting", "?key=hide_files", item({ key: "hide_files", group: 4, flag: 0 })],
    ["keys selects several, in their order", "?keys=logo,site_title", list("logo", "site_title")],
    ["one key in keys is an array", "?keys=logo", list("logo")],
    ["the comma of keys may be escaped", "?keys=logo%2Cfavicon", list("logo", "favicon")],
    ["key precedes keys", "?keys=logo&key=favicon", item({ key: "favicon" })],
    ["an empty key is absent", "?key=&keys=logo", list("logo")],
    ["an empty keys is absent", "?keys=&key=logo", item({ key: "logo" })],
    ["a request with neither is refused", "", 400, /key/],
    ["a request with both empty is refused", "?key=&keys=", 400, /key/],
  ]),
  ...reads(`${DRIVER}/list`, [
    ["the list is templates", "", item({ Local: item({ additional: expect.any(Array) }) })],
  ]),
  ...reads(`${DRIVER}/info`, [
    ["a driver by its name", "?driver=Local", driver("Local")],
    ["a space as %20", "?driver=115%20Cloud", driver("115 Cloud")],
    ["a space as +", "?driver=115+Cloud", driver("115 Cloud")],
    ["a missing driver name is not found", "", 404, /driver/],
    ["an empty driver name is not found", "?driver=", 404, /driver/],
  ]),
  // Saving.
  save("a save may have only key and value", [{ key: "site_title", value: "Pier" }]),
  ...saved("the value is read back", "site_title", "Pier"),
  save("a save may have whole items, with members of newer servers", [
    { key: "site_title", value: "Jetty", ...whole, index: 3, future: { deep: [1] } },
  ]),
  ...saved("the items are read back", "site_title", "Jetty"),
  save("a save may have items as this server lists them", [
    { key: "site_title", value: "Mole", ...whole, ...more },
  ]),
  save(
    "a save with the Content-Type of the pages",
    [{ key: "site_title", value: "Dock" }],
    AXIOS_TYPE,
  ),
  save("a save without Content-Type", '[{"key":"site_title","value":"Basin"}]'),
  ...saved("the value of a save without Content-Type is read back", "site_title", "Basin"),
  save("no body saves nothing", undefined),
  ...posts(`${SETTING}/save`, [
    ["an empty array saves nothing", [], null],
    ["an empty body with the JSON type saves nothing", "", null],
    ["null saves nothing", "null", null],
  ]),
  ...saved("nothing has changed", "site_title", "Basin"),
  ...posts(`${SETTING}/save`, [
    [
      "an invalid value is refused",
      [{ key: "default_page_size", value: "x" }],
      400,
      /^default_page/,
    ],
    ["an empty token is refused", [{ key: "token" }], 400, /token/],
    ["an unknown key is private", [{ key: "rest_custom", value: "1" }], null],
  ]),
  ...reads(PUBLIC, [
    ["the private setting is not public", "", expect.not.objectContaining({ rest_custom: "1" })],
  ]),
  save("an unknown key may be public", [{ key: "rest_open", value: "1", flag: 0 }]),
  ...reads(PUBLIC, [["the public setting is public", "", item({ rest_open: "1" })]]),
  // Deleting.
  ...posts(`${SETTING}/delete`, [["a missing key is not found", undefined, 404, /setting/]]),
  ...posts(`${SETTING}/delete?key=site_title`, [
    ["a setting in use is not deleted", undefined, 400, /site_title/],
  ]),
  save("settings can be made deprecated", [
    { key: "rest_custom", value: "1", flag: 3 },
    { key: "rest_open", value: "1", flag: 3 },
    { key: "rest_gone", value: "1", flag: 3 },
  ]),
  ...posts(`${SETTING}/delete?key=rest_custom`, [
    ["a deprecated setting is deleted, with no body and no Content-Type", undefined, null],
  ]),
  ...posts(`${SETTING}/delete?key=rest_open`, [
    ["a deprecated setting is deleted with an empty body of the JSON type", "", null],
  ]),
  ...reads(`${SETTING}/get`, [
    ["the deleted setting is gone", "?key=rest_custom", 404, /rest_custom/],
  ]),
  ...posts(`${SETTING}/delete?key=rest_gone`, [
    ["a delete refuses another key in its body", { key: "site_title" }, 400, /of key$/],
    ["a delete ignores members that are no parameters", { id: 7 }, null],
  ]),
  // Download managers: refusals before a call to them.
  ...posts(`${SETTING}/set_aria2`, [["aria2 without a body", undefined, 400, /"uri" is missing/]]),
  ...posts(`${SETTING}/set_qbit`, [
    ["a negative seeding time", { url, seedtime: "-1" }, 400, /seedtime/],
    ["a seeding time with a fraction", { url, seedtime: "1.5" }, 400, /seedtime/],
    ["a seeding time that is not a number", { url, seedtime: "long" }, 400, /seedtime/],
    // Otherwise the address is called.
    ["an empty seeding time is absent", { url, seedtime: "" }, 503, /connect failed/],
    [
      "a seeding time as text is valid",
      { url, seedtime: "0" },
      503,
      /^qBittorrent at http:\/\/127\.0\.0\.1:9\/?: connect failed/,
    ],
    ["a seeding time as a JSON number is valid", { url, seedtime: 90 }, 503, /connect failed/],
  ]),
  // The token, at the end, because it changes.
  ...posts(`${SETTING}/reset_token`, [
    [
      "reset_token is accepted without body and Content-Type",
      undefined,
      expect.stringMatching(/^mooring-[\w-]{43}$/),
    ],
  ]),
  ...reads(`${SETTING}/list`, [["the old token is refused afterwards", "", 401, /invalid token/]]),
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

  test("no token is in the log", () => {
    expect(service.log()).not.toContain(TOKEN);
    expect(service.log()).not.toMatch(/mooring-[\w-]{43}/);
  });
});
