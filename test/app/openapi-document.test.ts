import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import type { Method } from "../../src/gateway/method.ts";
import { listRoutes } from "../../src/gateway/rest/rest.ts";
import {
  type Fields,
  type GatewayServer,
  startGateway,
  streaming,
  unary,
} from "../gateway/gateway-server.ts";

/** Fake rpcs that return their name with the request that reached them. */
const seen: [rpc: string, request: Fields][] = [];

const SETTING = { key: "site_title", value: "Files", type: "string" };

const DRIVER = { common: [{ name: "mount_path" }], config: { name: "Local" } };

const REPLIES: Record<string, Fields> = {
  Ping: { message: "pong" },
  GetPublicSettings: { settings: { site_title: "Files" }, revision: 7n },
  ListDrivers: { drivers: { Local: DRIVER } },
  ListDriverNames: { names: ["Local", "S3"] },
  GetDriver: { info: DRIVER },
  ListSettings: { settings: [SETTING], revision: 7n },
  GetSetting: { setting: SETTING, revision: 7n },
  BatchGetSettings: { settings: [SETTING], revision: 7n },
  ResetToken: { token: "new-token" },
  SetAria2: { version: "1.36.0" },
  SetQbittorrent: { status: "ok", version: "v5.0.4" },
};

function bind(desc: DescMethod): Method {
  if (desc.methodKind !== "unary") {
    return streaming(desc, () => {
      throw new Error("not part of this test");
    });
  }
  return unary(desc, (request) => {
    const { $typeName: _, ...fields } = request as unknown as Record<string, unknown>;
    seen.push([desc.name, fields]);
    return REPLIES[desc.name] ?? {};
  });
}

const SERVICES: readonly DescService[] = [PublicService, DriverService, SettingService];

const methods = SERVICES.flatMap((service) => service.methods).map(bind);

let gateway: GatewayServer;

beforeAll(async () => {
  gateway = await startGateway({ methods });
});

afterAll(() => gateway.close());

test("every documented route is served", () => {
  const routes = listRoutes({ methods }).map(({ httpMethod, path }) => `${httpMethod} ${path}`);
  expect(routes).toEqual(
    expect.arrayContaining([
      "GET /ping",
      "GET /api/public/settings",
      "GET /api/admin/driver/list",
      "GET /api/admin/driver/names",
      "GET /api/admin/driver/info",
      "GET /api/admin/setting/list",
      "GET /api/admin/setting/get",
      "POST /api/admin/setting/save",
      "POST /api/admin/setting/delete",
      "POST /api/admin/setting/reset_token",
      "POST /api/admin/setting/set_aria2",
      "POST /api/admin/setting/set_qbit",
    ]),
  );
});

const READ = { key: "site_title", value: "Files", type: "string", help: "", group: 0, flag: 0 };

test.each<[string, unknown]>([
  ["/api/public/settings", { site_title: "Files" }],
  ["/api/admin/driver/names", ["Local", "S3"]],
  ["/api/admin/setting/list", [expect.objectContaining(READ)]],
  ["/api/admin/setting/get?key=site_title", expect.objectContaining(READ)],
  ["/api/admin/setting/get?keys=site_title", [expect.objectContaining(READ)]],
  ["/api/admin/driver/list", { Local: expect.objectContaining({ additional: [] }) }],
  ["/api/admin/driver/info?driver=Local", expect.objectContaining({ additional: [] })],
])("GET %s has the documented data", async (path, data) => {
  expect((await gateway.send(path)).json).toEqual({ code: 200, message: "success", data });
});

test("ping is answered with text", async () => {
  const reply = await gateway.send("/ping", { headers: { authorization: "stale" } });
  expect(reply.text).toBe("pong");
  expect(reply.headers["content-type"]).toMatch(/^text\/plain/);
});

test.each<[string, string, Fields]>([
  ["/api/admin/setting/list", "ListSettings", { groups: [] }],
  ["/api/admin/setting/list?group=1", "ListSettings", { groups: [1] }],
  ["/api/admin/setting/list?groups=5,0", "ListSettings", { groups: [5, 0] }],
  ["/api/admin/setting/list?group=1&groups=5%2C0", "ListSettings", { groups: [5, 0] }],
  ["/api/admin/setting/list?group=&groups=", "ListSettings", { groups: [] }],
  ["/api/admin/setting/get?key=a&keys=b", "GetSetting", { key: "a" }],
  ["/api/admin/setting/get?key=&keys=b,a,b", "BatchGetSettings", { keys: ["b", "a", "b"] }],
  ["/api/admin/driver/info", "GetDriver", { driver: "" }],
  ["/api/admin/driver/info?driver=189+Cloud", "GetDriver", { driver: "189 Cloud" }],
  ["/api/admin/driver/info?driver=189%20Cloud", "GetDriver", { driver: "189 Cloud" }],
])("GET %s calls %s with %o", async (path, rpc, request) => {
  seen.length = 0;
  await gateway.send(path);
  expect(seen).toEqual([[rpc, expect.objectContaining(request)]]);
});

test.each<[string, unknown, string, Fields]>([
  ["delete?key=a", undefined, "DeleteSetting", { key: "a" }],
  ["delete?key=a", "", "DeleteSetting", { key: "a" }],
  ["delete?key=a", '{"key":"b"}', "DeleteSetting", { key: "a" }],
  ["reset_token", undefined, "ResetToken", {}],
  ["save", undefined, "SaveSettings", { settings: [] }],
  ["save", "[]", "SaveSettings", { settings: [] }],
  ["save", "null", "SaveSettings", { settings: [] }],
  [
    "save",
    '[{"key":"a","value":"b","index":7,"newer":true}]',
    "SaveSettings",
    { settings: [expect.objectContaining({ key: "a", value: "b" })] },
  ],
  ["set_aria2", '{"uri":"http://x","secret":""}', "SetAria2", { uri: "http://x", secret: "" }],
  ["set_qbit", '{"url":"http://x","seedtime":"60"}', "SetQbittorrent", { seedtime: 60 }],
  ["set_qbit", '{"url":"http://x","seedtime":60}', "SetQbittorrent", { seedtime: 60 }],
])("POST %s with the body %s calls %s", async (path, body, rpc, request) => {
  for (const headers of [{}, { "content-type": "application/json;charset=utf-8" }]) {
    seen.length = 0;
    const reply = await gateway.send(`/api/admin/setting/${path}`, {
      method: "POST",
      body,
      headers,
    });
    expect(reply.json).toMatchObject({ code: 200, message: "success" });
    expect(seen).toEqual([[rpc, expect.objectContaining(request)]]);
  }
});

test.each<[string, unknown]>([
  ["save", null],
  ["delete?key=a", null],
  ["reset_token", "new-token"],
  ["set_aria2", "1.36.0"],
  ["set_qbit", "ok"],
])("POST %s has the documented data", async (path, data) => {
  const reply = await gateway.send(`/api/admin/setting/${path}`, { method: "POST" });
  expect(reply.json).toEqual({ code: 200, message: "success", data });
});

test.each<[string, string, string | undefined, string]>([
  ["GET", "list?groups=5,%200", undefined, 'query parameter "groups": expected a whole number'],
  ["GET", "list?groups=5,", undefined, 'got ""'],
  ["GET", "list?group=1,2", undefined, 'got "1,2"'],
  ["GET", "get", undefined, "give one of the query parameters key, keys"],
  ["GET", "get?key=%", undefined, 'query parameter "key": broken % escape'],
  ["POST", "save", '{"key":"a"}', "expected an array, got an object"],
  ["POST", "save", '[{"key":"a","value":1}]', "[0].value: expected a string, got a number"],
  ["POST", "save", '[{"key":"a","group":"x"}]', "[0].group: expected a whole number"],
  ["POST", "set_qbit", '{"url":"x","seedtime":"soon"}', "seedtime: expected a whole number from 0"],
  ["POST", "set_aria2", '{"uri"', "line 1, column 7: it ends too early"],
])("%s %s with %s is an error of the client", async (method, path, body, message) => {
  const reply = await gateway.send(`/api/admin/setting/${path}`, { method, body });
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({ code: 400, message: expect.stringContaining(message), data: null });
});
