import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { releaseWhenIdle } from "../../src/app/idle-memory.ts";
import { startService } from "../wire/service.ts";

const MIB = 2 ** 20;

/** Fills memory with unreferenced buffers. */
function waste(): void {
  const pieces = Array.from({ length: 40 }, () => Buffer.alloc(MIB));
  expect(pieces).toHaveLength(40);
}

test("unreferenced buffers are returned to the system when allocation stops", async () => {
  const before = process.memoryUsage().arrayBuffers;
  onTestFinished(releaseWhenIdle({ interval: 20, growth: 4 * MIB }));
  waste();
  const isBack = (): boolean => process.memoryUsage().arrayBuffers < before + 8 * MIB;
  while (!isBack()) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(globalThis).not.toHaveProperty("gc");
});

test("a process out of file descriptors continues", async () => {
  const module = new URL("../../src/app/idle-memory.ts", import.meta.url);
  const program = `
    import { openSync } from "node:fs";
    import { releaseWhenIdle } from "${module}";
    const end = releaseWhenIdle({ interval: 10 });
    setTimeout(() => { console.log("alive"); end(); }, 200);
    try { for (;;) openSync("/dev/null"); } catch ({ code }) { console.log(code); }`;
  const shell = 'ulimit -n 64; exec "$0" --input-type=module --eval "$1"';
  const { stdout } = await promisify(execFile)("sh", ["-c", shell, process.execPath, program]);
  expect(stdout).toBe("EMFILE\nalive\n");
});

test("stopped services are not retained in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const ended: WeakRef<object>[] = [];
  for (let count = 0; count < 5; count += 1) {
    const service = await startService();
    ended.push(new WeakRef(service.mooring));
    await service.stop();
  }
  // The engine may still reference the last one or two.
  await expect
    .poll(() => {
      collectGarbage();
      return ended.filter((service) => service.deref() !== undefined).length;
    })
    .toBeLessThan(3);
});
