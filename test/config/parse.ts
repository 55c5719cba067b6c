import { resolve } from "node:path";
import { type Config, type ConfigResult, parseConfig } from "../../src/config/config.ts";

/** Input of a case; default: an empty command line and environment in the folder `/srv`. */
export interface Input {
  args?: readonly string[];
  env?: Record<string, string | undefined>;
  files?: Record<string, string>;
  parallelism?: number;
  otherVariables?: readonly string[];
}

export const cwd = resolve("/srv");

export function parse({ args = [], env = {}, files = {}, ...rest }: Input): ConfigResult {
  const readFile = (path: string): string => {
    const content = files[path];
    if (content === undefined) {
      throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    }
    return content;
  };
  return parseConfig({ args, env, cwd, parallelism: 4, readFile, ...rest });
}

/** The parsed configuration; fails with the problems. */
export function configOf(input: Input): Config {
  const result = parse(input);
  if (result.kind !== "config") {
    throw new Error(`expected a configuration, got ${JSON.stringify(result)}`);
  }
  return result.config;
}

export function problemsOf(input: Input): readonly string[] {
  const result = parse(input);
  return result.kind === "problems" ? result.problems : [];
}
