import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { CONFIG, ITEM } from "./case/driver.ts";
import { PUBLIC_MEMBERS } from "./case/public.ts";
import { SETTING } from "./case/setting-read.ts";
import { startService, TOKEN } from "./service.ts";
import { http1Sender, type SendHttp } from "./transport/http.ts";

// Members of JSON replies: those of the contract, followed by those that this service adds.

const MORE_OF_SETTING = [
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
];
const MORE_OF_ITEM = [
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
];
const DRIVER = {
  common: expect.any(Array),
  additional: expect.any(Array),
  config: expect.any(Object),
};
const MORE_OF_DRIVER = ["label", "guide", "families"];
const MORE_OF_CONFIG = ["only_indices", "prefer_proxy"];

const service = startedForAll(startService);
const send: SendHttp = (...sent) => http1Sender(service.port)(...sent);

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
function expectMembers(value: object, contract: object, more: string[], name: string): void {
  expect(value, name).toMatchObject(contract);
  expect([...Object.keys(contract), ...more], name).toEqual(
    expect.arrayContaining(Object.keys(value)),
  );
}

test("a setting has the contract's members, and each is of its type", async () => {
  for (const setting of await dataOf<{ key: string; flag: number }[]>("/api/admin/setting/list")) {
    expectMembers(setting, SETTING, MORE_OF_SETTING, setting.key);
    expect([0, 1, 2, 3], setting.key).toContain(setting.flag);
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
    expectMembers(driver, DRIVER, MORE_OF_DRIVER, name);
    expectMembers(driver.config, { ...CONFIG, name }, MORE_OF_CONFIG, name);
    for (const item of [...driver.common, ...driver.additional])
      expectMembers(item, ITEM, MORE_OF_ITEM, name);
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
