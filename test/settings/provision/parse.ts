import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readBoundedFile } from "../../../src/files/bounded-file.ts";
import {
  type ProvisionDeps,
  type ProvisionSetting,
  parseProvision,
} from "../../../src/settings/provision/provision.ts";
import { problemText } from "../../../src/settings/provision/source.ts";
import type { ValueShape } from "../../../src/settings/provision/value.ts";

/** A folder of this process, removed at its end. */
export const folder = mkdtempSync(join(tmpdir(), "mooring-provision-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
export const path = join(folder, "settings.yaml");

const accepts = (shape: ValueShape = "text"): ProvisionSetting => ({
  shape,
  check: () => undefined,
});
const settings = new Map<string, ProvisionSetting>([
  ["site_title", accepts()],
  ["announcement", accepts()],
  ["aria2_secret", accepts()],
  ["external_previews", accepts("json")],
  ["hide_files", accepts("lines")],
  ["text_types", accepts("commas")],
  ["allow_indexed", { shape: "text", check: (value) => boolProblem(value) }],
]);
function boolProblem(value: string): string | undefined {
  return /^(?:true|false)$/.test(value) ? undefined : `must be true or false, not "${value}"`;
}

export const deps: ProvisionDeps = {
  path,
  env: { SECRET: "from the environment", EMPTY: "", NUMBER: "5" },
  readFile: readBoundedFile,
  settings,
};
export const parse = (text: string) => parseProvision(text, deps);

/** A file with one setting, by default site_title, whose value is this text. */
export const readValue = (yaml: string, key = "site_title") => {
  const { entries, problems } = parse(`settings:\n  ${key}: ${yaml}\n`);
  return entries[0]?.value ?? problems.map((problem) => problemText("f", problem)).join("\n");
};

/** The problems of a text, as printed on a terminal. */
export const problemsOf = (text: string) =>
  parse(text).problems.map((one) => problemText("f", one));
