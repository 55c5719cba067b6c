import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { builtProgram } from "../../built.ts";
import { startService } from "../../cli/service.ts";
import { needs } from "../../downloaders/program.ts";
import { startedForAll } from "../../started.ts";

const service = startedForAll(() => startService());

const PROGRAM = await builtProgram();
const MOORING = `${process.execPath} ${PROGRAM}`;
const env = (): NodeJS.ProcessEnv => ({ ...process.env, NO_COLOR: "1", ...service.env });

/** Runs a shell command. */
async function shell(line: string): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)("sh", ["-c", line], { env: env() });
}

describe("the program", () => {
  test("prints the bare value to a shell", async () => {
    const { stdout } = await shell(`echo "<$(${MOORING} get site_title)>"`);
    expect(stdout).toBe("<OpenList>\n");
  });

  test("returns its exit code to a script", async () => {
    const { stdout } = await shell(`${MOORING} get no_such_key 2>/dev/null || echo $?`);
    expect(stdout).toBe("3\n");
  });

  test("ends silently when the reader closes the pipe", async () => {
    const { stdout, stderr } = await shell(`${MOORING} export | head -c 1`);
    expect({ stdout, stderr }).toEqual({ stdout: "{", stderr: "" });
  });

  test("imports the output of another program from a pipe of the shell", async () => {
    const backup = '{"settings": [{"key": "site_title", "value": "OpenList"}]}';
    const line = `${MOORING} import <(echo '${backup}') --yes`;
    const { stdout } = await promisify(execFile)("bash", ["-c", line], { env: env() });
    expect(stdout).toContain("unchanged");
  });

  test("reads a value from a pipe", async () => {
    await shell(`printf 'from a pipe\\n' | ${MOORING} set announcement -`);
    expect((await shell(`${MOORING} get announcement`)).stdout).toBe("from a pipe\n");
  });

  test.each([
    ["SIGINT", ["watch"]],
    ["SIGTERM", ["watch"]],
    ["SIGINT", ["audit", "list", "--follow", "--after", "0"]],
  ] as const)("ends with 0 on %s: %j", async (signal, args) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], { env: env() });
    await once(child.stdout, "data");
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("ends a watch silently when its reader disconnects", async () => {
    const child = spawn(process.execPath, [PROGRAM, "watch"], { env: env() });
    await once(child.stdout, "data");
    child.stdout.destroy();
    await service.cli(["set", "announcement=again"]);
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

describe("on a real terminal", () => {
  beforeEach(needs("script"));

  /** Runs a command on a pseudo-terminal and types lines into it, each after a prompt. */
  async function onTerminal(command: string, answers: string[]): Promise<string> {
    const line = `stty cols 60 2>/dev/null; ${MOORING} ${command}; echo "exit $?"`;
    const child = spawn("script", ["-qec", line, "/dev/null"], { env: env() });
    let shown = "";
    child.stdout.on("data", (chunk) => {
      shown += String(chunk);
      if (/(\] |: )$/.test(shown)) child.stdin.write(`${answers.shift() ?? "\u0003"}\r`);
    });
    await once(child, "close");
    return shown;
  }

  test("a prompt is printed, and its answer applies", async () => {
    await service.cli(["set", "site_title=Wrong"]);
    expect(await onTerminal("rollback 1 site_title", ["n"])).toMatch(
      /\[y\/N\] n.*nothing was changed.*exit 1/s,
    );
    expect(await onTerminal("rollback 1 site_title", ["y"])).toMatch(/restored 1 setting.*exit 0/s);
  });

  test("a secret is typed without echo, and Ctrl-C aborts", async () => {
    const shown = await onTerminal("token set", ["a-secret-that-nobody-sees-0123456789"]);
    expect(shown).not.toContain("a-secret");
    expect(shown).toMatch(/Repeat the token: .*no answer; nothing was done.*exit 1/s);
  });

  test("lines are cut to its width", async () => {
    await service.cli(["set", "announcement", "x".repeat(300)]);
    const lines = (await onTerminal("list --group site", [])).split("\r\n");
    expect(lines.find((line) => line.startsWith("announcement"))).toMatch(/^.{59}…$/);
  });
});
