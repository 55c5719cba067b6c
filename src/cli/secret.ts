import { readFileSync } from "node:fs";
import { readSecretFiles } from "../config/secret-file.ts";
import type { Texts } from "../config/source.ts";
import { usage } from "./failure.ts";
import type { World } from "./world.ts";

/** A secret and who said it, such as `MOORING_TOKEN` or `--token-file "/run/token"`. */
export interface Secret {
  readonly source: string;
  readonly text: string;
}

/** A name and what was given under it, if anything. */
type Given = readonly [source: string, text: string | undefined];

/** Where a secret may stand: directly, or in a file. */
export interface SecretPair {
  readonly direct: Given;
  readonly file: Given;
}

/**
 * Reads a secret from flags, else from variables. White space around it does not count.
 *
 * @returns undefined when nothing is given; an empty variable counts as nothing.
 * @throws CliFailure (usage) when both of a pair are given, or the file can't be read.
 */
export function readSecret(
  flags: SecretPair,
  variables: SecretPair,
  { cwd }: Pick<World, "cwd">,
): Secret | undefined {
  const pair = isGiven(flags) ? flags : variables;
  const texts: Texts = new Map();
  // The rules of a secret that may stand in a file are those of the configuration's own.
  for (const [name, [source, text = ""]] of [
    ["adminToken", pair.direct],
    ["adminTokenFile", pair.file],
  ] as const)
    if (text.trim() !== "") texts.set(name, { source, text: text.trim() });
  const [problem] = readSecretFiles(texts, {
    context: { cwd, parallelism: 1 },
    readFile: readFileText,
  });
  if (problem !== undefined) throw usage(problem);
  return texts.get("adminToken");
}

/** Reads a file whole, in UTF-8. */
export function readFileText(path: string): string {
  return readFileSync(path, "utf8");
}

function isGiven({ direct, file }: SecretPair): boolean {
  return [direct, file].some(([, text = ""]) => text.trim() !== "");
}
