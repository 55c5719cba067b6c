import { describe, expect, test } from "vitest";
import { createStorageClient } from "../../../src/mounts/site/client.ts";
import { readAddition } from "../../../src/mounts/site/row.ts";
import { createSettingClient } from "../../../src/sites/settings/client.ts";
import { createSiteClient, type SiteClient } from "../../../src/sync/client.ts";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";

const mount = (at: number, more: object = {}): object => ({
  id: at + 1,
  mount_path: `/${at}`,
  driver: "Local",
  addition: "{}",
  status: "work",
  disabled: false,
  ...more,
});

async function mountsOf(rows: readonly object[]) {
  const client = { call: async () => ({ content: rows }) } as unknown as SiteClient;
  return createStorageClient(client).list();
}

test("a list of more than 10,000 mounts is refused as a whole, with its length", async () => {
  const rows = Array.from({ length: 10_001 }, (_, at) => mount(at));
  expect(await mountsOf(rows.slice(1))).toHaveLength(10_000);
  await expect(mountsOf(rows)).rejects.toMatchObject({
    kind: "too_large",
    message: "the list has 10001 mounts, and at most 10000 of a site are read",
  });
});

test.each([
  ["path", { mount_path: `/${"p".repeat(4_096)}` }],
  ["driver", { driver: "d".repeat(256) }],
])("a mount with a %s that is too long is refused", async (_name, more) => {
  await expect(mountsOf([mount(0, more)])).rejects.toMatchObject({ kind: "foreign" });
});

describe("a configuration", () => {
  const values = (count: number): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at])));

  test.each([
    ["many members", values(100_000)],
    ["many elements", `{"a":[${"1,".repeat(5_000)}1]}`],
    ["deep lists", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["deep objects", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
  ])("with %s is not read", (_name, text) => {
    expect(readAddition(text)).toBeUndefined();
  });

  test("with few values of any length is read", () => {
    expect(Object.keys(readAddition(values(900)) ?? {})).toHaveLength(900);
    const url = String.raw`a,[{\",`.repeat(100_000);
    expect(readAddition(`{"url_structure": "${url}", "b": 1}`)).toMatchObject({ b: 1 });
  });
});

describe("a list of settings", () => {
  const site = startedForAll(startStandIn);
  const setting = (key: string) => ({
    key,
    value: "",
    type: "string",
    options: "",
    help: "",
    group: 1,
    flag: 0,
  });
  const read = async (rows: readonly object[]) => {
    site.mode = { kind: "reply", body: JSON.stringify({ code: 200, message: "", data: rows }) };
    const client = createSiteClient({ url: site.url, token: site.token(), ca: "", pin: "" });
    try {
      return await createSettingClient(client).list();
    } finally {
      client.close();
    }
  };

  test("of more than 5,000 rows is refused, with its length", async () => {
    const rows = Array.from({ length: 5_001 }, (_, at) => setting(`k${at}`));
    expect(await read(rows.slice(1))).toHaveLength(5_000);
    await expect(read(rows)).rejects.toMatchObject({
      kind: "too_large",
      message: expect.stringContaining("a list of 5001 settings"),
    });
  });

  test("with a key of more than 1,000 characters is refused", async () => {
    await expect(read([setting("k".repeat(1_001))])).rejects.toMatchObject({ kind: "foreign" });
  });
});
