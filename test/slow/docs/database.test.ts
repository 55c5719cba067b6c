import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../cli/world.ts";
import { needs } from "../../downloaders/program.ts";
import { testFolder } from "../../process/mooring.ts";
import { openParts, save } from "../../settings/parts.ts";
import { postgresProgram, serverOfFile } from "../../store/postgres/server.ts";

const read = (file: string): string =>
  readFileSync(join(import.meta.dirname, "../../..", file), "utf8");

/** The code blocks of a page in one language. */
function blocks(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, block = ""]) => block,
  );
}

describe("docs/postgres.md", () => {
  const page = read("docs/postgres.md");

  describe("commands", () => {
    const server = serverOfFile();

    test("have the described effect, in the order of the page", async () => {
      const folder = await testFolder();
      const parts = await openParts(join(folder, "mooring.db"));
      await save(parts, { site_title: "Harbour" });
      await parts.close();
      const url = await server().newDatabase();
      const commands = blocks(page, "sh").flatMap((block) =>
        block.split("\n").filter((line) => line.startsWith("mooring ")),
      );
      expect(commands).toHaveLength(3);
      // The password is prompted for on a terminal, which is not available here.
      for (const command of blocks(page, "sh")[0]?.trim().split("\n") ?? []) {
        const [program = "", ...words] = command.replace(" --pwprompt", "").split(" ");
        const at = ["-h", "127.0.0.1", "-p", String(server().port), "-U", "mooring"];
        const name = words.map((word) => word.replace(/^mooring$/, "harbour"));
        const { status, stderr } = spawnSync(postgresProgram(program), [...at, ...name], {
          encoding: "utf8",
        });
        expect(status, `${command}: ${stderr}`).toBe(0);
      }
      for (const command of commands) {
        const args = command
          .replaceAll("data/mooring.db", join(folder, "mooring.db"))
          .replaceAll("postgres://mooring@db.example/mooring", url)
          .split(" ");
        expect(await run(args.slice(1)), command).toMatchObject({ code: 0, err: "" });
      }
    });
  });

  test("has a configuration that nginx accepts", async (context) => {
    needs("nginx")(context);
    const folder = await testFolder();
    const file = join(folder, "nginx.conf");
    const [server = ""] = blocks(page, "nginx");
    writeFileSync(
      file,
      `pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${server.replace("listen 80", "listen 127.0.0.1:18080")} }`,
    );
    const { status, stderr } = spawnSync("nginx", ["-t", "-c", file, "-e", "stderr"], {
      encoding: "utf8",
    });
    expect(stderr).toContain("syntax is ok");
    expect(status, stderr).toBe(0);
  });
});

test("docs/reliability.md names existing scripts and variables", () => {
  const page = read("docs/reliability.md");
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name);
  expect(named).not.toEqual([]);
  for (const name of named) expect(scripts).toHaveProperty(name);
  const options = read("test/reliability/main.ts");
  for (const [, option] of page.matchAll(/--([a-z]+) \d/g)) expect(options).toContain(`${option}:`);
});
