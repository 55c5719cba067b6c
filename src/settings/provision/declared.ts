/** Names of settings or mounts that a file declares. */
export interface Declared {
  /** Name of the file that declares a setting or mount; undefined: clients change it. */
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
