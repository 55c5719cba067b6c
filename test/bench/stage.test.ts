import { existsSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { cpuMicros, processTree, residentBytes } from "../../bench/proc.ts";
import { pathOfProgram } from "../../bench/program.ts";
import { createStage, LOAD_CORE, type Stage } from "../../bench/stage.ts";

const taskset = pathOfProgram("taskset") === undefined;
const skipReason = taskset ? " (skipped: taskset is not installed)" : "";
const stages: Stage[] = [];

afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});

function openStage(): Stage {
  const stage = createStage(process.env);
  stages.push(stage);
  return stage;
}

function node(script: string) {
  return { program: process.execPath, args: ["-e", script], cores: LOAD_CORE };
}

describe.skipIf(taskset)(`the stage${skipReason}`, () => {
  it("stops its processes and removes its folders", async () => {
    const stage = openStage();
    const folder = stage.folder();
    const { pid } = stage.start(node("setInterval(() => {}, 1000)"));
    expect(processTree(pid)).toContain(pid);
    expect(residentBytes(pid)).toBeGreaterThan(0);
    await stage.close();
    expect(existsSync(folder)).toBe(false);
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  it("returns the output of a program, and its stderr when it fails", async () => {
    const stage = openStage();
    expect(await stage.run(node("process.stdout.write('42')"))).toBe("42");
    await expect(stage.run(node("throw new Error('broken')"))).rejects.toThrow("broken");
  });

  it("exchanges lines with a program", async () => {
    const talk = openStage().converse(
      node(
        "process.stdout.write('ready\\n'); process.stdin.on('data', (d) => process.stdout.write('got ' + d))",
      ),
    );
    expect(await talk.ask()).toBe("ready");
    expect(await talk.ask("one")).toBe("got one");
    await talk.stop();
  });

  it("reports the output of a server that ends too early", async () => {
    const server = openStage().start(node("console.error('no such port'); process.exit(3)"));
    await expect.poll(() => failure(() => server.assertAlive())).toContain("no such port");
  });

  it("counts the CPU time of a working process", async () => {
    const { pid } = openStage().start(node("for (;;) {}"));
    await expect.poll(() => cpuMicros(pid)).toBeGreaterThan(0);
  });
});

function failure(check: () => void): string {
  try {
    check();
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
