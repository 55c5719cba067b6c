import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { newDatabaseFolder } from "../store/folder.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");

// All other tests of the process are in test/slow/process.
test("the program starts from its source, serves, and ends with 0 on SIGTERM", async () => {
  const folder = newDatabaseFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { PATH } = process.env;
  const program = spawn(process.execPath, [MAIN], {
    cwd: folder,
    env: { PATH, MOORING_LISTEN: "127.0.0.1:0", MOORING_DATA_DIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void program.kill("SIGKILL"));
  let shown = "";
  program.stderr.on("data", (part) => {
    shown += part;
  });
  let address = "";
  for await (const line of createInterface(program.stdout)) {
    const { msg, listen } = JSON.parse(line);
    if (msg !== "serving") continue;
    address = listen;
    break;
  }
  program.stdout.resume();
  const [token = ""] = /mooring-[\w-]{43}/.exec(shown) ?? [];
  const reply = await fetch(`http://${address}/api/admin/setting/get?key=site_title`, {
    headers: { authorization: token },
  });
  expect(await reply.json()).toMatchObject({ code: 200 });
  program.kill("SIGTERM");
  expect(await once(program, "exit")).toEqual([0, null]);
});

test("flags before a command are refused with a hint that names the command", async () => {
  const { PATH } = process.env;
  const program = spawn(process.execPath, [MAIN, "--token-file", "no-such-file", "whoami"], {
    env: { PATH },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void program.kill("SIGKILL"));
  let shown = "";
  program.stderr.on("data", (part) => {
    shown += part;
  });
  expect(await once(program, "close")).toEqual([2, null]);
  expect(shown).toContain('"whoami" is a command: write it before its flags, "mooring whoami …"');
});
