/** Names of records that files declare, by their parts of an archive. */
export interface Declared {
  /** Name of the file that declares a record; undefined: clients change it. */
  by(part: string, name: string): string | undefined;
  /**
   * Replaces the records that a file declares when they are saved. The new ones are declared during the
   * save already: a change of a client after its commit would replace a declared value.
   *
   * @param file as it is named in messages. @throws as `save`; then the declared records stay.
   */
  replace<T>(file: string, names: DeclaredNames, save: () => Promise<T>): Promise<T>;
}

/** Names of records by their parts. */
export type DeclaredNames = ReadonlyMap<string, readonly string[]>;

export function createDeclared(): Declared {
  const files = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();
  return {
    by: (part, name) => {
      for (const [file, parts] of files) if (parts.get(part)?.has(name) === true) return file;
      return undefined;
    },
    replace: async (file, names, save) => {
      const before = files.get(file) ?? new Map<string, ReadonlySet<string>>();
      const next = new Map([...names].map(([part, each]) => [part, new Set(each)]));
      files.set(file, union(before, next));
      try {
        const result = await save();
        files.set(file, next);
        return result;
      } catch (error) {
        files.set(file, before);
        throw error;
      }
    },
  };
}

function union(
  a: ReadonlyMap<string, ReadonlySet<string>>,
  b: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const parts = new Set([...a.keys(), ...b.keys()]);
  return new Map(
    [...parts].map((part) => [part, new Set([...(a.get(part) ?? []), ...(b.get(part) ?? [])])]),
  );
}
