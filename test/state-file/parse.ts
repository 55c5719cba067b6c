import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readBoundedFile } from "../../src/files/bounded-file.ts";
import { SETTINGS_FILE } from "../../src/state-file/form.ts";
import { problemText } from "../../src/state-file/problem.ts";
import { parseStateFile, type ReadDeps, type StateFile } from "../../src/state-file/read.ts";
import type { ValueShape } from "../../src/state-file/setting-value.ts";

/** A folder of this process, removed at its end. */
export const folder = mkdtempSync(join(tmpdir(), "mooring-state-file-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
export const path = join(folder, "state.yaml");

const shapes = new Map<string, ValueShape>([
  ["site_title", "text"],
  ["announcement", "text"],
  ["aria2_secret", "text"],
  ["external_previews", "json"],
  ["hide_files", "lines"],
  ["text_types", "commas"],
  ["allow_indexed", "text"],
]);

export const PARTS = ["sites", "settings", "mounts", "rules", "webhooks", "principals"];

export const deps: ReadDeps = {
  form: SETTINGS_FILE,
  path,
  env: { SECRET: "from the environment", EMPTY: "", NUMBER: "5" },
  readFile: readBoundedFile,
  parts: PARTS,
  shapeOf: (key) => shapes.get(key),
};
export const parse = (text: string, more: Partial<ReadDeps> = {}) =>
  parseStateFile(text, { ...deps, ...more });

/** Values of the settings of a file, by their keys. */
export const valuesOf = ({ sections }: StateFile) =>
  Object.fromEntries(
    (sections.get("settings") ?? []).map(({ name, members }) => [name, members["value"]]),
  );

/** A file with one setting, by default site_title, whose value is this text. */
export const readValue = (yaml: string, key = "site_title"): string => {
  const file = parse(`settings:\n  ${key}: ${yaml}\n`);
  const problems = file.problems.map((problem) => problemText("f", problem));
  return problems.length > 0 ? problems.join("\n") : String(valuesOf(file)[key]);
};

/** The problems of a text, as printed on a terminal. */
export const problemsOf = (text: string, more: Partial<ReadDeps> = {}) =>
  parse(text, more).problems.map((one) => problemText("f", one));
