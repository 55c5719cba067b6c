import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, service, startService, TOKEN, useService } from "./service.ts";
import { run } from "./world.ts";

const OTHER = "another-token-0123456789-0123456789";

let stopped = false;
useService();
beforeEach(async () => {
  const args = ["token", "set", "--yes", "--database", service.database];
  expect((await run(args, { stdin: TOKEN })).code).toBe(0);
});
afterEach(async () => {
  if (stopped) await service.start();
  stopped = false;
});

/** Stops the service until the end of the test. */
async function stop(): Promise<void> {
  await service.stop();
  stopped = true;
}

/** A command with the database and no service. */
const offline = (...args: string[]) => run([...args, "--database", service.database]);

describe("token", () => {
  test("show prints the token", async () => {
    expect(await cli(["token", "show"])).toEqual({ code: 0, out: `${TOKEN}\n`, err: "" });
  });

  test("reset prints the new token, and the old one is refused at once", async () => {
    const { code, out } = await cli(["token", "reset", "--yes"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^mooring-[\w-]{43}\n$/);
    expect((await cli(["list"])).code).toBe(5);
    expect((await cli(["list"], { env: { MOORING_TOKEN: out.trim() } })).code).toBe(0);
  });

  test("reset writes the new token to the token file", async () => {
    const file = join(service.folder, "token-file");
    await writeFile(file, TOKEN);
    const env = { MOORING_TOKEN: "", MOORING_TOKEN_FILE: file };
    const ended = await cli(["token", "reset", "--yes", "--output", "token-file"], { env });
    expect(ended).toMatchObject({ code: 0, out: "" });
    expect(await readFile(file, "utf8")).toMatch(/^mooring-[\w-]{43}\n$/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await cli(["list"], { env })).code).toBe(0);
  });

  test("reset changes nothing when its file cannot be created", async () => {
    const ended = await cli(["token", "reset", "--yes", "--output", "/nowhere/token"]);
    expect(ended).toMatchObject({ code: 3, out: "" });
    expect((await cli(["list"])).code).toBe(0);
    expect((await cli(["token", "show", "--output", "x"])).code).toBe(2);
  });

  test("that a shell has removed from its file has an explanation", async () => {
    const file = join(service.folder, "emptied");
    await writeFile(file, "");
    const env = { MOORING_TOKEN: "", MOORING_TOKEN_FILE: file };
    const { code, err } = await cli(["token", "reset", "--yes"], { env });
    expect(code).toBe(2);
    expect(err).toContain("a shell redirection empties the file");
  });

  test("reset lists its consequences on a terminal and asks for confirmation", async () => {
    const refused = await cli(["token", "reset"], { terminal: 80, answers: [""] });
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain("are refused");
    expect((await cli(["list"])).code).toBe(0);
    expect((await cli(["token", "reset", "--yes"], { terminal: 80 })).code).toBe(0);
  });

  test("set reads a new token from standard input or a file, never from an argument", async () => {
    expect((await cli(["token", "set", "--yes", OTHER])).code).toBe(2);
    expect((await cli(["token", "set", "--yes"], { stdin: `${OTHER}\n` })).code).toBe(0);
    await writeFile(join(service.folder, "token"), TOKEN);
    const env = { MOORING_TOKEN: OTHER };
    expect((await cli(["token", "set", "--yes", "--from-file", "token"], { env })).code).toBe(0);
    expect((await cli(["list"])).code).toBe(0);
  });

  test("set prompts on a terminal, twice and without echo", async () => {
    const ended = await cli(["token", "set", "--yes"], {
      terminal: 80,
      answers: [OTHER, OTHER, "y"],
    });
    expect(ended.code).toBe(0);
    expect(ended.err).not.toContain(OTHER);
    const differs = await cli(["token", "set", "--yes"], {
      env: { MOORING_TOKEN: OTHER },
      terminal: 80,
      answers: [TOKEN, `${TOKEN}x`],
    });
    expect(differs.code).toBe(2);
  });

  test("set refuses a token that is too short, without repeating it", async () => {
    const { code, err } = await cli(["token", "set", "--yes"], { stdin: "short-one" });
    expect(code).toBe(4);
    expect(err).not.toContain("short-one");
    expect((await cli(["token", "set", "--yes"], { stdin: "" })).code).toBe(2);
  });

  test("suggests the nearest action", async () => {
    expect((await cli(["token", "rest"])).err).toContain("did you mean token reset?");
    expect((await cli(["token", "constructor"])).code).toBe(2);
  });
});

describe("--database", () => {
  test("prints and resets the token of a stopped service", async () => {
    await stop();
    expect((await offline("token", "show")).out).toBe(`${TOKEN}\n`);
    const { out } = await offline("token", "reset", "--yes");
    await service.start();
    stopped = false;
    expect((await cli(["list"])).code).toBe(5);
    expect((await cli(["list"], { env: { MOORING_TOKEN: out.trim() } })).code).toBe(0);
  });

  test("works beside a running service, which refuses the old token at once", async () => {
    const { out } = await offline("token", "reset", "--yes");
    expect((await cli(["list"])).code).toBe(5);
    expect((await cli(["list"], { env: { MOORING_TOKEN: out.trim() } })).code).toBe(0);
  });

  test("imports into the database of a stopped service, with the origin in the history", async () => {
    await stop();
    const file = join(service.folder, "site.json");
    const settings = [{ key: "site_title", value: "Restored" }];
    await writeFile(file, JSON.stringify({ format: "mooring-archive", version: 1, settings }));
    expect((await offline("import", file)).code).toBe(0);
    expect((await offline("get", "site_title")).out).toBe("Restored\n");
    expect((await offline("history", "-n", "1")).out).toMatch(/cli +cli ImportArchive +site_title/);
  });

  test("has the exit codes and messages of the service", async () => {
    await stop();
    expect((await offline("get", "site_titel")).err).toContain("did you mean site_title?");
    const refused = await offline("set", "default_page_size=x", "allow_indexed=y");
    expect(refused.code).toBe(4);
    expect(refused.err.split("\n")).toHaveLength(4);
    expect((await offline("diff", "999")).code).toBe(3);
  });

  test.each([
    ["a file that does not exist", ["list", "--database", "nowhere.db"], 3],
    ["another kind of database", ["list", "--database", "mysql://user:secret@host/x"], 2],
    ["an unreachable server", ["list", "--database", "postgres://u:secret@127.0.0.1:9/x"], 1],
    ["an address beside it", ["list", "--database", "mooring.db", "--address", "a:1"], 2],
    ["a watch", ["watch", "--database", "mooring.db"], 2],
  ])("reports %s", async (_what, args, code) => {
    const ended = await run(args, { cwd: service.folder });
    expect(ended.code).toBe(code);
    expect(ended.err).not.toContain("secret");
  });

  test("opens a database of sealed secrets with the key of the service", async () => {
    const env = { MOORING_SECRET_KEY: "0f".repeat(32) };
    const sealed = await startService(env);
    await sealed.stop();
    const args = ["token", "show", "--database", sealed.database];
    expect((await run(args, { env })).out).toBe(`${TOKEN}\n`);
    const keyless = await run(args);
    await sealed.remove();
    expect(keyless).toMatchObject({ code: 1, out: "" });
    expect(keyless.err).toContain("MOORING_SECRET_KEY");
  });

  test("creates no database where there is none, and changes no other file", async () => {
    const file = join(service.folder, "notes.txt");
    await writeFile(file, "these are notes, and no database at all".repeat(100));
    const { code, err } = await run(["list", "--database", file]);
    expect(code).toBe(1);
    expect(err).toContain("notes.txt");
  });
});
