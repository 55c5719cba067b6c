import { readFileSync } from "node:fs";

/** @returns the version of package.json as `vN.N.N`: what legacy clients read as `version`. */
export function programVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return `v${version}`;
}
