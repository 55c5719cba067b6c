import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { readCheckpoint } from "../../../src/audit/checkpoint.ts";
import { startService } from "../../cli/service.ts";
import { startWatching } from "../../cli/watching.ts";
import { needs } from "../../downloaders/program.ts";
import { startedForAll } from "../../started.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/audit.md"), "utf8");

/** The code blocks of the page in one language. */
function blocks(language: string): string[] {
  return page
    .split(/^```/m)
    .filter((_part, at) => at % 2 === 1)
    .filter((part) => part.startsWith(`${language}\n`))
    .map((part) => part.slice(language.length + 1));
}

describe("docs/audit.md", () => {
  const service = startedForAll(() => startService());
  beforeAll(async () => {
    await service.cli(["set", "site_title=Häfen ⚓", "--reason", '"why" \\ \u2028 \u007f']);
    await service.cli(["token", "create", "anna", "--scopes", "settings:read"]);
  });

  /** Runs the next commands until they have printed something. */
  const followed = async (args: string[]) => {
    const following = startWatching(args, service.env);
    let hasPrinted = false;
    void following.until("SaveSettings").then(() => {
      hasPrinted = true;
    });
    for (let at = 0; !hasPrinted; at += 1) await service.cli(["set", `announcement=${at}`]);
    return following.interrupt();
  };

  test("has commands with the described effect", async () => {
    const commands = blocks("sh").flatMap((block) => block.trim().split("\n"));
    expect(commands).toHaveLength(8);
    for (const command of commands) {
      const [line = ""] = command.split(/ +#| > /);
      const args = line.replaceAll("'", "").split(" ").slice(1);
      const run = args.includes("--follow") ? followed(args) : service.cli(args);
      expect(await run, command).toMatchObject({ code: 0 });
    }
  });

  test("has a program that verifies an export", async (context) => {
    needs("python3")(context);
    const [program = ""] = blocks("python");
    const { out } = await service.cli(["audit", "export"]);
    const check = (input: string) =>
      spawnSync("python3", ["-c", program], { input, encoding: "utf8" });
    expect(check(out)).toMatchObject({ status: 0, stdout: "whole\n", stderr: "" });
    const changed = check(out.replace("anna/", "otto/"));
    expect(changed).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/was changed after it was/),
    });
    const lines = out.trim().split("\n");
    const without = check(lines.filter((_line, at) => at !== 1).join("\n"));
    expect(without.stderr).toBe("row 3 does not follow row 1\n");
  });

  test("shows a checkpoint in the actual format", () => {
    expect(readCheckpoint(blocks("")[0] ?? "")).toMatchObject({ origin: "zR3vGYfQ", seq: 1_207 });
  });
});
