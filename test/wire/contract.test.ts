import { beforeAll, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { PUBLIC_MEMBERS } from "./case/public.ts";
import { startService, TOKEN } from "./service.ts";
import { http1Sender, type SendHttp } from "./transport/http.ts";

// Members of JSON replies: those of the contract, followed by those that this service adds.

const SETTING = {
  contract: ["key", "value", "help", "type", "options", "group", "flag"],
  more: [
    "index",
    "secret",
    "managed",
    "default",
    "format",
    "min",
    "max",
    "revision",
    "etag",
    "description",
    "label",
    "option_labels",
    "group_label",
    "unit",
    "fraction",
    "families",
  ],
};
const ITEM = {
  contract: ["name", "type", "default", "options", "required", "help"],
  more: [
    "secret",
    "show_when",
    "min",
    "max",
    "description",
    "label",
    "option_labels",
    "unit",
    "fraction",
    "families",
    "required_unless",
    "destination",
  ],
};
const DRIVER = {
  contract: ["common", "additional", "config"],
  more: ["label", "guide", "families"],
};
const CONFIG = {
  contract: [
    "name",
    "local_sort",
    "only_local",
    "only_proxy",
    "no_cache",
    "no_upload",
    "need_ms",
    "default_root",
    "alert",
  ],
  more: ["only_indices", "prefer_proxy"],
};

const service = startedForAll(startService);
let send: SendHttp;

beforeAll(async () => {
  send = http1Sender(service.port);
});

const headers = { authorization: TOKEN };

async function dataOf<T>(path: string): Promise<T> {
  const { json } = await send(path, { headers });
  return (json as { data: T }).data;
}

async function save(settings: readonly object[]): Promise<unknown> {
  const request = { method: "POST", body: settings, headers };
  return (await send("/api/admin/setting/save", request)).json;
}

/** Checks that an object has every member of the contract, and otherwise only documented ones. */
function expectMembers(value: object, { contract, more }: typeof SETTING, name: string): void {
  const members = Object.keys(value);
  expect(members, name).toEqual(expect.arrayContaining(contract));
  expect([...contract, ...more], name).toEqual(expect.arrayContaining(members));
}

test("a setting has the contract's members, and each is of its type", async () => {
  for (const setting of await dataOf<Record<string, unknown>[]>("/api/admin/setting/list")) {
    const { key } = setting;
    const name = String(key);
    expectMembers(setting, SETTING, name);
    const { group, flag, ...others } = setting;
    expect(group, name).toBeTypeOf("number");
    expect([0, 1, 2, 3], name).toContain(flag);
    for (const member of ["key", "value", "help", "type", "options"])
      expect(others[member], `${name}.${member}`).toBeTypeOf("string");
  }
});

interface Template {
  readonly common: object[];
  readonly additional: object[];
  readonly config: object;
}

test("a driver has the contract's members, and additional is never null", async () => {
  const drivers = await dataOf<Record<string, Template>>("/api/admin/driver/list");
  for (const [name, driver] of Object.entries(drivers)) {
    expectMembers(driver, DRIVER, name);
    expectMembers(driver.config, CONFIG, name);
    expect(driver.additional, name).toBeInstanceOf(Array);
    for (const item of [...driver.common, ...driver.additional]) expectMembers(item, ITEM, name);
    expect(await dataOf(`/api/admin/driver/info?driver=${encodeURIComponent(name)}`)).toEqual(
      driver,
    );
  }
  expect(await dataOf("/api/admin/driver/names")).toEqual(Object.keys(drivers).sort());
});

test("common has the names that the contract lists", async () => {
  const { common } = await dataOf<Template>("/api/admin/driver/info?driver=S3");
  expect(common.map((item) => (item as { name: string }).name)).toEqual(
    expect.arrayContaining([
      "mount_path",
      "order",
      "remark",
      "cache_expiration",
      "webdav_policy",
      "down_proxy_url",
      "extract_folder",
      "enable_sign",
    ]),
  );
});

test("the public settings have the contract's members after any save", async () => {
  const attempts = PUBLIC_MEMBERS.flatMap((key) => [
    [{ key, value: "", flag: 1 }],
    [{ key, value: "x", flag: 3 }],
    [{ key, value: "true", type: "bool", group: 0, flag: 1 }],
  ]);
  for (const attempt of attempts) await save(attempt);
  for (const key of PUBLIC_MEMBERS)
    await send(`/api/admin/setting/delete?key=${key}`, { method: "POST", headers });
  const settings = await dataOf<Record<string, string>>("/api/public/settings");
  expect(Object.keys(settings)).toEqual(expect.arrayContaining([...PUBLIC_MEMBERS]));
  for (const [key, value] of Object.entries(settings)) expect(value, key).toBeTypeOf("string");
  expect(settings).not.toHaveProperty("token");
});

test("a whole list can be saved back as it was read, without a change", async () => {
  const before = await dataOf<object[]>("/api/admin/setting/list");
  expect(await save(before)).toEqual({ code: 200, message: "success", data: null });
  expect(await dataOf("/api/admin/setting/list")).toEqual(before);
});

test("a masked list can be saved back, without loss of a secret", async () => {
  await save([{ key: "aria2_secret", value: "kept" }]);
  await save(await dataOf<object[]>("/api/admin/setting/list?mask_secrets=true"));
  expect(await dataOf("/api/admin/setting/get?key=aria2_secret")).toMatchObject({ value: "kept" });
  expect(await dataOf("/api/admin/setting/get?key=token")).toMatchObject({ value: TOKEN });
});
