import { fileURLToPath } from "node:url";
import type { Load, LoadResult } from "../contest.ts";
import { LOAD_CORE, type Stage } from "../stage.ts";

/** Placeholder in a frame for the number of each call. */
export const COUNTER = "#".repeat(16);

/** Unary gRPC calls with a changing body. */
export interface WriteJob {
  readonly port: number;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly token?: string;
  /** Framed request for each client and connection, in base64, with one COUNTER. */
  readonly frames: readonly string[];
}

const program = fileURLToPath(new URL("write-client.ts", import.meta.url));

/** Load of one client per frame, each with one call at a time. */
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
