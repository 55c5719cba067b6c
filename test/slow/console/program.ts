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
  let output = "";
  const serving = new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      output += chunk;
    });
    child.stdout.on("data", (chunk) => {
      output += chunk;
      if (output.includes('"msg":"serving"')) resolve();
    });
    child.once("exit", () => reject(new Error(`it has ended: ${output}`)));
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
