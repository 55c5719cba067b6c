#!/usr/bin/env node
// First file of a package: loads the program with its compiled code.
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { createCodeLoader } from "./code-cache.ts";
import { V8_FLAGS } from "./memory-settings.ts";

/**
 * Time after the start of the service, in milliseconds: a first call may have been served, and memory
 * is not yet released (idle-memory.ts), with compiled code of the start.
 */
const SAVED_AFTER = 2_000;

// Before the program is compiled: V8 refuses code that was compiled with other flags.
for (const flag of V8_FLAGS) setFlagsFromString(flag);

// Beside the packages, or NODE_COMPILE_CACHE. Without write access to the folder there is no cache.
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/mooring"));
const [, , first = "serve"] = process.argv;
// Service and client use other functions of the files that they share.
const kind = first === "serve" ? "serve" : first.startsWith("-") ? "other" : "client";
const cache = getCompileCacheDir();
const loader = createCodeLoader({
  folder: join(import.meta.dirname, ".."),
  cache: cache && join(cache, kind),
});
process.once("exit", loader.save);
const { runProgram } = loader.load("program.cjs") as typeof import("./program.ts");
await runProgram();
// The cache is also written at the exit, but a process may be killed.
setTimeout(loader.save, SAVED_AFTER).unref();
