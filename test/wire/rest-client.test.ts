import { describe, expect, test } from "vitest";
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

const SETTING = "/api/admin/setting";
const PUBLIC = "/api/public/settings";
const GUEST = { headers: { authorization: "" } };
const item = (members: object): unknown => expect.objectContaining(members);
const list = (...keys: string[]): unknown => keys.map((key) => item({ key }));
const post = (body?: unknown) => ({ method: "POST", body });
const save = (name: string, body: unknown): RestCase =>
  succeeds(name, `${SETTING}/save`, post(body), null);
const saved = (name: string, key: string, value: string): RestCase[] =>
  reads(`${SETTING}/get`, [[name, `?key=${key}`, item({ key, value })]]);
const whole = { help: "", type: "string", options: "", group: 1, flag: 0 };
/** Members of an item as this server lists it. */
const more = { index: 1, secret: false, managed: false, default: "x", format: "", revision: "12" };
const url = "http://127.0.0.1:9/";

/**
 * Run in order on one service: some depend on earlier ones. Every form of a query and a body is in
 * test/gateway, every name in test/app/parameter.test.ts.
 */
const cases: readonly RestCase[] = [
  succeeds("a guest reads public settings", PUBLIC, GUEST, item({ version: VERSION })),
  refuses(
    "the token is not accepted as a query parameter",
    `${SETTING}/list?authorization=${TOKEN}&token=${TOKEN}`,
    GUEST,
    401,
    /missing/,
  ),
  ...posts(`${SETTING}/save?dryrun`, [
    ["a misspelt parameter of a save is refused", [], 400, /"dryrun": no such parameter; did you/],
  ]),
  ...posts(`${SETTING}/save?expected_etag=`, [
    ["a save with an empty ?expected_etag= is refused", [], 412, /is not a state of this database/],
  ]),
  ...posts(`${SETTING}/save`, [
    [
      "a misspelt member of a setting is refused",
      [{ key: "site_title", value: "x", expected_etags: "0" }],
      400,
      /\[0\]\.expected_etags: no such member; did you mean expected_etag/,
    ],
  ]),
  ...reads("/api/admin/mount/list", [
    ["a list that would not be filtered is refused", "?Site=harbour", 400, /did you mean/],
  ]),
  succeeds(
    "a save with ?dry_run shows its changes",
    `${SETTING}/save?dry_run&_=1`,
    post([{ key: "site_title", value: "not saved" }]),
    { changes: [item({ key: "site_title", new_value: "not saved" })] },
  ),
  ...reads(`${SETTING}/list`, [
    ["group selects one group", "?group=7", allOfGroups(7)],
    ["groups selects several", "?groups=5,0", allOfGroups(0, 5)],
    ["groups precedes group", "?group=1&groups=5", allOfGroups(5)],
    ["an empty groups is absent", "?groups=&group=7", allOfGroups(7)],
    ["neither: all", "", wholeList()],
    ["a part of groups that is not an integer is refused by name", "?groups=5,b", 400, /"b"/],
    ["unknown parameters of a list are ignored", "?group=7&x=%20&page", allOfGroups(7)],
  ]),
  ...reads(`${SETTING}/get`, [
    ["key selects one setting", "?key=hide_files", item({ key: "hide_files", group: 4, flag: 0 })],
    ["keys selects several, in their order", "?keys=logo,site_title", list("logo", "site_title")],
    ["one key in keys is an array", "?keys=logo", list("logo")],
    ["key precedes keys", "?keys=logo&key=favicon", item({ key: "favicon" })],
    ["a request with neither is refused", "", 400, /key/],
  ]),
  ...reads("/api/admin/driver/info", [
    ["a driver by its name", "?driver=115+Cloud", item({ config: item({ name: "115 Cloud" }) })],
    ["an empty driver name is not found", "?driver=", 404, /driver/],
  ]),
  save("a save may have only key and value", [{ key: "site_title", value: "Pier" }]),
  ...saved("the value is read back", "site_title", "Pier"),
  save("a save may have whole items, with members of newer servers", [
    { key: "site_title", value: "Jetty", ...whole, index: 3, future: { deep: [1] } },
  ]),
  ...saved("the items are read back", "site_title", "Jetty"),
  save("a save may have items as this server lists them", [
    { key: "site_title", value: "Mole", ...whole, ...more },
  ]),
  save("no body saves nothing", undefined),
  ...saved("nothing has changed", "site_title", "Mole"),
  save("settings can be made deprecated", [{ key: "rest_gone", value: "1", flag: 3 }]),
  // Bodies of such calls: parameter-body.test.ts.
  ...posts(`${SETTING}/delete?key=rest_gone`, [
    ["a deprecated setting is deleted, with no body and no Content-Type", undefined, null],
  ]),
  ...posts(`${SETTING}/set_qbit`, [
    ["a negative seeding time", { url, seedtime: "-1" }, 400, /seedtime/],
    // Otherwise the address is called.
    ["an empty seeding time is absent", { url, seedtime: "" }, 503, /connect failed/],
    [
      "a seeding time as text is valid",
      { url, seedtime: "0" },
      503,
      /^qBittorrent at http:\/\/127\.0\.0\.1:9\/?: connect failed/,
    ],
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
  const send: SendHttp = (...sent) => http1Sender(service.port)(...sent);

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
