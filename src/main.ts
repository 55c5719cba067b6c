#!/usr/bin/env node
// The program from its source. A package begins in app/packaged.ts.
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { runProgram } from "./app/program.ts";

// Caches compiled code, and the result of type stripping.
enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/mooring"));
await runProgram();
