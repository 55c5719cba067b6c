import { readBoundedFile } from "../../files/bounded-file.ts";
import { watchContent } from "../../files/file-watch.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { RevisionOrigin } from "../../ledger/store.ts";
import type { SettingDefinition } from "../definition.ts";
import { FLAG } from "../item.ts";
import { decideValue } from "../save.ts";
import { checkToken, TOKEN_KEY } from "../token.ts";
import { checkValue, normalizeValue } from "../value.ts";
import type { Provision, ProvisionSetting } from "./provision.ts";
import { problemText } from "./source.ts";
import { shapeOf } from "./value.ts";

export interface ManagedSettingsDeps {
  /** The settings file (MOORING_SETTINGS_FILE); undefined: nothing is managed. */
  readonly path: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ledger: Ledger;
  readonly definitions: readonly SettingDefinition[];
  /**
   * Called with the problems of an invalid file while the service runs; the settings stay
   * unchanged.
   */
  readonly onProblems: (lines: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
  /** Called with the managed keys after the file was applied. */
  readonly onApplied: (keys: readonly string[]) => void;
}

/** Settings whose values are declared by a file of the deployment. */
export interface ManagedSettings {
  /** Name of the file that manages a key, for messages; undefined: clients manage it. */
  managedBy(key: string): string | undefined;
  /**
   * Applies the file as one revision, then watches it.
   *
   * @throws Error with the problems of the file, one line each.
   */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Origin of changes by the file, for the history. */
const FILE: RevisionOrigin = {
  actor: "settings-file",
  transport: "file",
  method: "",
  requestId: "",
  peer: "",
  reason: "declared in the settings file",
};

/** Creates managed settings, which are applied by `start`. */
export function createManagedSettings(deps: ManagedSettingsDeps): ManagedSettings {
  const { path, ledger } = deps;
  const declared = createDeclared();
  let stop = async (): Promise<void> => {};
  if (path === undefined) return { managedBy: declared.by, start: async () => {}, close: stop };

  const settings = new Map(
    deps.definitions
      .filter(({ flag }) => flag !== FLAG.readonly)
      .map((definition) => [definition.key, describe(definition)]),
  );
  const apply = async ({ entries }: Provision): Promise<void> => {
    const keys = entries.map(({ key }) => key);
    await declared.replace(keys, `the settings file ${path}`, () =>
      ledger.change(FILE, (draft) => {
        for (const { key, value } of entries) decideValue(draft, key, value);
      }),
    );
    // Cached replies show whether a setting is managed.
    ledger.touch();
    deps.onApplied(keys);
  };

  return {
    managedBy: declared.by,
    start: async () => {
      // Most sites have no settings file, and start without its parser.
      const { loadProvision } = await import("./provision.ts");
      const load = (): Provision =>
        loadProvision({ path, env: deps.env, readFile: readBoundedFile, settings });
      const first = load();
      const lines = problemLines(path, first);
      if (lines.length > 0) throw new Error(`invalid settings file\n${lines.join("\n")}`);
      await apply(first);
      stop = watchContent({
        path,
        first,
        load,
        keyOf,
        onChange: async (provision) => {
          const wrong = problemLines(path, provision);
          if (wrong.length > 0) deps.onProblems(wrong);
          else await apply(provision);
        },
        onError: deps.onError,
      });
    },
    close: () => stop(),
  };
}

function describe(definition: SettingDefinition): ProvisionSetting {
  const check = (value: string): string | undefined =>
    definition.key === TOKEN_KEY
      ? checkToken(value)
      : checkValue(definition, normalizeValue(definition, value))?.toString();
  return { shape: shapeOf(definition.format), check };
}

/** Moved lines do not matter. */
export function keyOf({ entries, problems }: Provision): string {
  return JSON.stringify([entries.map(({ key, value }) => [key, value]), problems]);
}

function problemLines(path: string, { problems }: Provision): string[] {
  return problems.map((problem) => problemText(path, problem));
}

/** Names of records that a file declares. */
export interface Declared {
  /** Name of the file that declares a record; undefined: clients change it. */
  by(name: string): string | undefined;
  /**
   * Replaces the declared names when their values are saved. The new names are declared during the
   * save already: a change of a client after its commit would replace a declared value.
   *
   * @throws as `save`; then the declared names stay.
   */
  replace(names: readonly string[], file: string, save: () => Promise<unknown>): Promise<void>;
}

export function createDeclared(): Declared {
  let files: ReadonlyMap<string, string> = new Map();
  return {
    by: (name) => files.get(name),
    replace: async (names, file, save) => {
      const before = files;
      const next = new Map(names.map((name) => [name, file]));
      files = new Map([...before, ...next]);
      try {
        await save();
      } catch (error) {
        files = before;
        throw error;
      }
      files = next;
    },
  };
}
