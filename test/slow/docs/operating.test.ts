import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { startedMooring, TOKEN, testFolder } from "../../process/mooring.ts";

const ROOT = join(import.meta.dirname, "../../..");
const page = readFileSync(join(ROOT, "docs/operating.md"), "utf8");
/** Its commands, one per line. */
const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
  block.trim().split("\n"),
);
const shell = (command: string, cwd: string) =>
  promisify(execFile)("bash", ["-euc", command], { cwd });

describe("docs/operating.md", () => {
  const commandWith = (word: string): string =>
    commands.find((command) => command.includes(word)) ?? "";

  test("finds failures in the log", async (context) => {
    needs("jq", "bash")(context);
    const folder = await testFolder();
    const mooring = await startedMooring({ folder, env: { MOORING_ADMIN_TOKEN: TOKEN } });
    const url = `http://127.0.0.1:${mooring.port()}/mooring.v1.SettingService/GetSetting`;
    const headers = { authorization: TOKEN, "content-type": "application/json" };
    await fetch(url, { method: "POST", headers, body: '{"key":"nobody-knows-it"}' });
    await mooring.logged(
      ({ method, code }) => /GetSetting$/.test(String(method)) && code !== undefined,
    );
    // These are shown for any level of client failures.
    const lines = mooring.log().map((line) => JSON.stringify({ ...line, level: 40 }));
    writeFileSync(join(folder, "log"), lines.join("\n"));
    const command = commandWith("jq").replace("journalctl -u mooring -o cat", "cat log");
    const { stdout } = await shell(command, folder);
    expect(stdout).toMatch(/^\S+\tmooring.v1.SettingService\/GetSetting\t.*nobody-knows-it/m);
  });

  test("copies a database that is in use", async (context) => {
    needs("sqlite3", "bash")(context);
    const folder = await testFolder();
    const mooring = await startedMooring({ folder, env: { MOORING_ADMIN_TOKEN: TOKEN } });
    await fetch(`http://127.0.0.1:${mooring.port()}/api/admin/setting/save`, {
      method: "POST",
      headers: { authorization: TOKEN, "content-type": "application/json" },
      body: '[{"key":"site_title","value":"Harbour"}]',
    });
    const command = commandWith("sqlite3")
      .replace("/var/lib/mooring/mooring.db", join(folder, "mooring.db"))
      .replace("/srv/backup/mooring.db", join(folder, "copy.db"));
    await shell(command, folder);
    const copy = new DatabaseSync(join(folder, "copy.db"), { readOnly: true });
    onTestFinished(() => copy.close());
    const title = copy.prepare("select body from record where key = 'site_title'").get();
    expect(title).toEqual({ body: "Harbour" });
  });

  test("has no commands except those for systemd and the packages", () => {
    const elsewhere =
      /^(?:mkdir|tar|ln|mv|npm install|mooring serve|cp .*systemd|systemctl|journalctl)/;
    const local = commands.filter((command) => /jq|sqlite3/.test(command));
    const others = commands.filter((command) => !local.includes(command));
    for (const command of others) expect(command).toMatch(elsewhere);
    expect(local).toHaveLength(2);
  });
});
