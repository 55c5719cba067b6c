#!/usr/bin/env node
// The program from its source. A package begins in app/packaged.ts.
import { runProgram } from "./app/program.ts";

await runProgram();
