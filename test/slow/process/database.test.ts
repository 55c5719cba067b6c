import { spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../bench/port.ts";
import {
  type MooringOptions,
  runMooring,
  startedMooring,
  TOKEN,
  testFolder,
} from "../../process/mooring.ts";
import { http1Sender } from "../../wire/transport/http.ts";

const env = { MOORING_ADMIN_TOKEN: TOKEN };
const headers = { authorization: TOKEN };

/** The one-sentence message of a failing start. */
async function refusalOf(options: MooringOptions): Promise<string> {
  const mooring = runMooring({ ...options, env: { ...env, ...options.env } });
  expect(await mooring.ended).toBe(1);
  const lines = mooring.stderr().trimEnd().split("\n");
  expect(lines, mooring.stderr()).toHaveLength(1);
  expect(mooring.stderr()).not.toMatch(/\bat .*:\d|SQLITE_|StoreError/);
  return lines[0] ?? "";
}

/** A database of this program in a folder, without a process on it. */
async function madeDatabase(folder: string): Promise<string> {
  const mooring = await startedMooring({ folder, env });
  await mooring.stop();
  return join(folder, "mooring.db");
}

/** Holds the write lock, like another program, until it is released. */
function lock(path: string): { release: () => void } {
  const other = new DatabaseSync(path);
  other.exec("begin exclusive");
  let held = true;
  const release = (): void => {
    if (held) other.close();
    held = false;
  };
  onTestFinished(release);
  return { release };
}

// test/store/sqlite/failure.test.ts has the other causes.
describe("a start with", () => {
  test("a file that is not a database is refused, and leaves it unchanged", async () => {
    const folder = await testFolder();
    const text = "no database at all, but long enough to look like one\n".repeat(90);
    await writeFile(join(folder, "mooring.db"), text);
    expect(await refusalOf({ folder })).toMatch(/is not a SQLite database/);
    expect(await readFile(join(folder, "mooring.db"), "utf8")).toBe(text);
  });

  test("a full disk is refused", async (context) => {
    const folder = await testFolder();
    context.skip(!mountSmall(folder, 16), "this process may not mount a small disk");
    expect(await refusalOf({ folder })).toMatch(/disk is full: free some space/);
  });
});

describe("while the database is not open yet", () => {
  test("/ping answers, and other calls are held until everything is served", async () => {
    const folder = await testFolder();
    const { release } = lock(await madeDatabase(folder));
    const port = await freePort();
    const listen = { ...env, MOORING_LISTEN: `127.0.0.1:${port}` };
    const mooring = runMooring({ folder, env: listen });
    const send = http1Sender(port);
    const ping = async () => (await send("/ping").catch(() => undefined))?.text;
    await expect.poll(ping).toBe("pong");
    const held = [send("/api/public/settings"), send("/api/admin/setting/list", { headers })];
    expect((await send("/ping")).text).toBe("pong");
    release();
    await mooring.serving;
    for (const reply of held) expect((await reply).json).toMatchObject({ code: 200 });
  });
});

describe("while it runs", () => {
  const save = { method: "POST", body: [{ key: "site_title", value: "x" }], headers } as const;

  test("a lock of another program is UNAVAILABLE, and reads are still served", async () => {
    const folder = await testFolder();
    const mooring = await startedMooring({ folder, env });
    const send = http1Sender(mooring.port());
    const { release } = lock(join(folder, "mooring.db"));
    const saving = send("/api/admin/setting/save", save);
    expect((await send("/api/public/settings")).json).toMatchObject({ code: 200 });
    expect((await send("/api/admin/setting/list", { headers })).json).toMatchObject({ code: 200 });
    expect((await saving).json).toMatchObject({
      code: 503,
      message: expect.stringContaining("locked"),
    });
    release();
    expect((await send("/api/admin/setting/save", save)).json).toMatchObject({ code: 200 });
  });

  test("deleted files make saves UNAVAILABLE, which is logged; reads are still served", async () => {
    const folder = await testFolder();
    const mooring = await startedMooring({ folder, env });
    const send = http1Sender(mooring.port());
    await rm(join(folder, "mooring.db"));
    await mooring.logged(({ msg }) =>
      String(msg).includes("was deleted while the service used it"),
    );
    expect((await send("/api/admin/setting/save", save)).json).toMatchObject({
      code: 503,
      message: expect.stringMatching(
        /^nothing was saved: .* was deleted while the service used it/,
      ),
    });
    expect((await send("/api/admin/setting/list", { headers })).json).toMatchObject({ code: 200 });
    await mooring.stop();
  });

  test("it is killed: the next start reports that it has checked the database", async () => {
    const folder = await testFolder();
    const mooring = await startedMooring({ folder, env });
    mooring.kill("SIGKILL");
    await mooring.ended;
    const again = await startedMooring({ folder, env });
    await again.logged(({ msg }) => String(msg).includes("was checked and is intact"));
  });

  test("a full disk is RESOURCE_EXHAUSTED, and reads are still served", async (context) => {
    const folder = await testFolder();
    context.skip(!mountSmall(folder, 2_048), "this process may not mount a small disk");
    const mooring = await startedMooring({ folder, env });
    const send = http1Sender(mooring.port());
    await fill(join(folder, "ballast"));
    const body = [{ key: "robots_txt", value: "x".repeat(60_000) }];
    const full = await send("/api/admin/setting/save", { ...save, body });
    expect(full.json).toMatchObject({ code: 429, message: expect.stringContaining("full") });
    expect((await send("/api/public/settings")).json).toMatchObject({ code: 200 });
    expect((await send("/api/admin/setting/list", { headers })).json).toMatchObject({ code: 200 });
    await writeFile(join(folder, "ballast"), "");
    expect((await send("/api/admin/setting/save", { ...save, body })).json).toMatchObject({
      code: 200,
    });
  });
});

/** Mounts a disk of this number of KiB on a folder. @returns false if that is not permitted. */
function mountSmall(folder: string, size: number): boolean {
  const options = ["-t", "tmpfs", "-o", `size=${size}k`, "tmpfs", folder];
  const { status } = spawnSync("mount", options);
  if (status !== 0) return false;
  onTestFinished(() => void spawnSync("umount", ["-l", folder]));
  return true;
}

/** Writes until the disk is full. */
async function fill(path: string): Promise<void> {
  for (let size = 1 << 20; size >= 1_024; size /= 2)
    for (;;) {
      const written = await writeFile(path, Buffer.alloc(size), { flag: "a" }).then(
        () => true,
        () => false,
      );
      if (!written) break;
    }
}
