import type { Archive } from "../archive/archive.ts";
import type { Config } from "../config/config.ts";
import { readBoundedFile } from "../files/bounded-file.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { Declared } from "../state-file/declared.ts";
import { declaringFiles, nameOfFile } from "../state-file/form.ts";
import type { ValueShape } from "../state-file/setting-value.ts";
import type { Logger } from "../telemetry/log.ts";

/** Names of the configured files. */
type Files = Pick<Config, "stateFile" | "settingsFile" | "mountsFile">;

/** The files of a running service that declare records. */
export interface FollowedFiles {
  /** Note on files that are invalid now; undefined: none. */
  note(): string | undefined;
  close(): Promise<void>;
}

/**
 * Applies the configured files, then follows them.
 *
 * @throws Error with the problems of an invalid file.
 */
export async function followFiles(
  config: Files,
  {
    archive,
    declared,
    sites,
    ledger,
    definitionOf,
    log,
  }: {
    readonly archive: Archive;
    readonly declared: Declared;
    readonly sites: SiteRegistry;
    readonly ledger: Pick<Ledger, "invalidateReplies">;
    readonly definitionOf: (key: string) => SettingDefinition | undefined;
    readonly log: Logger;
  },
): Promise<FollowedFiles> {
  const invalid = new Map<string, readonly string[]>();
  await using opened = new AsyncDisposableStack();
  const files = declaringFiles(config);
  if (files.length > 0) {
    // Most services have no such file, and start without the parser of YAML.
    const { followFile } = await import("../state-file/follow.ts");
    const shapeOf = await readShapes(definitionOf);
    for (const file of files) {
      const { title } = file.form;
      const stop = await followFile({
        file,
        env: process.env,
        archive,
        declared,
        sites,
        shapeOf,
        onApplied: (names) => {
          invalid.delete(file.path);
          // Cached replies show whether a record is managed.
          ledger.invalidateReplies();
          log.info(Object.fromEntries(names), `${title} applied`);
        },
        onProblems: (problems) => {
          invalid.set(file.path, problems);
          log.error({ problems }, `the ${title} is invalid; nothing was changed`);
        },
        onError: (error) => log.error({ err: error }, `the ${title} could not be applied`),
      });
      opened.defer(stop);
    }
  }
  const running = opened.move();
  return {
    note: () => {
      const [first, ...rest] = [...invalid.values()].flat();
      if (first === undefined) return undefined;
      const more = rest.length > 0 ? ` (and ${rest.length} more)` : "";
      return `not applied: ${first}${more}`;
    },
    close: () => running.disposeAsync(),
  };
}

async function readShapes(
  definitionOf: (key: string) => SettingDefinition | undefined,
): Promise<(key: string) => ValueShape | undefined> {
  const { shapeOf } = await import("../state-file/setting-value.ts");
  return (key) => {
    const definition = definitionOf(key);
    return definition && shapeOf(definition.format);
  };
}

/**
 * Reads which records the configured files declare, for commands without a service. Nothing is
 * applied: the service does that at its start. Files that cannot be read declare nothing here.
 */
export async function readDeclared(
  config: Files,
  {
    declared,
    parts,
    definitionOf,
  }: {
    readonly declared: Declared;
    readonly parts: readonly string[];
    readonly definitionOf: (key: string) => SettingDefinition | undefined;
  },
): Promise<void> {
  const files = declaringFiles(config);
  if (files.length === 0) return;
  const { loadStateFile } = await import("../state-file/read.ts");
  const { namesOf } = await import("../state-file/follow.ts");
  const shapeOf = await readShapes(definitionOf);
  for (const file of files) {
    const content = loadStateFile({
      ...file,
      env: process.env,
      parts,
      shapeOf,
      readFile: readBoundedFile,
    });
    await declared.replace(
      `${nameOfFile(file)}, which the service applies at its start`,
      namesOf(content),
      async () => undefined,
    );
  }
}
