import { spawn } from "node:child_process";
import { once } from "node:events";

/** The program as a process that a test ends and starts again. */
export interface RunningProgram {
  /** Ends it like an operator, and waits for its end. */
  stop(): Promise<void>;
}

/** Starts a main file and waits until it serves. */
export async function runProgram(
  main: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const atExit = (): void => void child.kill("SIGKILL");
  process.once("exit", atExit);
  let said = "";
  const serving = new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      said += chunk;
    });
    child.stdout.on("data", (chunk) => {
      said += chunk;
      if (said.includes('"msg":"serving"')) resolve();
    });
    child.once("exit", () => reject(new Error(`it has ended: ${said}`)));
  });
  await serving;
  return {
    stop: async () => {
      process.off("exit", atExit);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}
