import { existsSync } from "node:fs";
import { join } from "node:path";

/** File of the program, built or its source: what a process of the service starts. */
export const MAIN =
  ["../main.js", "../main.ts"]
    .map((name) => join(import.meta.dirname, name))
    .find((path) => existsSync(path)) ?? "";
