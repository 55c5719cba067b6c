import { fileURLToPath } from "node:url";
import type { Load, LoadResult } from "../contest.ts";
import { LOAD_CORE, type Stage } from "../stage.ts";

/** Stands in a frame where each call puts another number. */
export const COUNTER = "#".repeat(16);

/** Unary gRPC calls with a changing body. */
export interface WriteJob {
  readonly port: number;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly token?: string;
  /** A framed request for each client and connection, base64, with COUNTER in it once. */
  readonly frames: readonly string[];
}

const program = fileURLToPath(new URL("write-client.ts", import.meta.url));

/** As many clients as there are frames, each with one call at a time. */
export function writeLoad(stage: Stage, job: WriteJob): Load {
  return async (seconds) => {
    const output = await stage.run({
      program: process.execPath,
      args: [program, JSON.stringify({ ...job, seconds })],
      cores: LOAD_CORE,
    });
    return JSON.parse(output) as LoadResult;
  };
}
