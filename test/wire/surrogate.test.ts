import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);

async function post(path: string, body: string): Promise<{ status: number; text: string }> {
  const reply = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    body,
  });
  return { status: reply.status, text: await reply.text() };
}
const connect = (method: string) => `/mooring.v1.${method}`;
const MOUNT = (config: string) =>
  `{"mounts": [{"name": "m", "mount_path": "/m", "driver": "Local", "config": ${config}}]}`;

test.each([
  [connect("DriverService/ValidateDriverConfig"), '{"driver": "S3", "values": {"\\ud800": 1}}'],
  ["/api/admin/driver/validate?driver=S3", '{"bucket": "\\ud800x"}'],
  [connect("MountService/SaveMounts"), MOUNT('{"root_folder_path": "/\\ud800"}')],
  ["/api/admin/mount/save", MOUNT('{"\\udfff": "/"}')],
  [connect("BackupService/ImportArchive"), '{"document": {"\\ud800": []}}'],
])("a body with an unpaired surrogate is refused with its position: %s %s", async (path, body) => {
  const { text } = await post(path, body);
  expect(text).toMatch(/the body has an unpaired surrogate \(line 1, column \d+\)/);
});

test("a paired surrogate is text, and an escaped escape too", async () => {
  const config = '{"root_folder_path": "/\\ud83d\\ude00\\\\ud800"}';
  expect((await post(connect("MountService/SaveMounts"), MOUNT(config))).status).toBe(200);
  const { text } = await post(connect("MountService/GetMount"), '{"name": "m"}');
  expect(text).toContain("/\u{1f600}\\\\ud800");
});

/** Backup of a server whose configuration is JSON in JSON. */
function backup(addition: string, more: object = {}): string {
  const storage = { mount_path: "/from-backup", driver: "Local", addition, order: 0, ...more };
  const document = { settings: [], users: [], metas: [], storages: [storage] };
  return JSON.stringify({ document });
}

test("an import of a configuration with an unpaired surrogate leaves lists readable", async () => {
  const body = backup('{"root_folder_path": "/\\ud800", "other": "\\udc00"}');
  expect((await post(connect("BackupService/ImportArchive"), body)).status).toBe(200);
  const { status, text } = await post(connect("MountService/ListMounts"), "{}");
  expect(status).toBe(200);
  expect(text).toContain("/\ufffd");
});

test("a NUL character in the configuration of a mount is refused", async () => {
  const config = '{"root_folder_path": "/a\\u0000b"}';
  expect((await post(connect("MountService/SaveMounts"), MOUNT(config))).text).toMatch(
    /must not contain the NUL character/,
  );
  const imported = await post(
    connect("BackupService/ImportArchive"),
    backup('{"root_folder_path": "/a\\u0000b"}', { mount_path: "/nul" }),
  );
  expect(imported.text).toMatch(/must not contain the NUL character/);
});

test.each([48, 64, 100, 128, 200, 255, 256])(
  "names that are cut at %d units within a character are shown in replies",
  async (length) => {
    const name = `${"x".repeat(length - 1)}${"\u{1f600}".repeat(40)}`;
    const replies = await Promise.all([
      post(
        connect("DriverService/ValidateDriverConfig"),
        JSON.stringify({ driver: "S3", values: { [name]: 1 } }),
      ),
      post(
        connect("SettingService/SaveSettings"),
        JSON.stringify({ settings: [{ key: name, value: "x" }], dry_run: true }),
      ),
      post(
        connect("MountService/SaveMounts"),
        JSON.stringify({
          mounts: [{ name: "a", mount_path: "/a", driver: "Local", members: { [name]: "x" } }],
        }),
      ),
      post(connect("BackupService/ImportArchive"), backup("{}", { [name]: "x" })),
      post(
        connect("BackupService/ImportArchive"),
        JSON.stringify({ document: { settings: [], [name]: [1] } }),
      ),
    ]);
    expect(replies.map(({ status }) => status)).not.toContain(500);
  },
);
