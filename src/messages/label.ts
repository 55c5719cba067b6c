import { readFileSync } from "node:fs";

/** Display names (`src/data/labels.json`). */
export interface Labels {
  /** Display name of an item or a setting, such as "Mount path" for `mount_path`. */
  readonly nameOf: (name: string) => string;
  /** Display names of an item's options in their order; empty: no options. */
  readonly optionsOf: (name: string, options: string) => readonly string[];
  /** Name of a group of settings; empty for an unnamed one. */
  readonly groupOf: (group: number) => string;
}

/** Data file of labels that cannot be derived from the name. */
interface LabelFile {
  readonly words: Readonly<Record<string, string>>;
  readonly names: Readonly<Record<string, string>>;
  /** Item to option to label; `*` applies to every item. */
  readonly options: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly groups: Readonly<Record<string, string>>;
}

const NONE: readonly string[] = Object.freeze([]);

const DATA_FILE = new URL("../data/labels.json", import.meta.url);

/** Reads the program's own labels. */
export function readLabels(): Labels {
  return createLabels(JSON.parse(readFileSync(DATA_FILE, "utf8")) as LabelFile);
}

function createLabels({ words, names, options, groups }: LabelFile): Labels {
  const known = new Map<string, readonly string[]>();
  const made = new Map<string, string>();
  const wordsOf = (name: string): string => {
    const parts = name
      .replace(/([a-z])([A-Z])/g, "$1_$2")
      .split(/[_\s]+/)
      .map((part) => words[part.toLowerCase()] ?? part.toLowerCase());
    const text = parts.join(" ");
    return text.charAt(0).toUpperCase() + text.slice(1);
  };
  const optionOf = (name: string, option: string): string =>
    options[name]?.[option] ?? options["*"]?.[option] ?? wordsOf(option);
  return {
    nameOf: (name) => {
      const label = made.get(name) ?? names[name] ?? wordsOf(name);
      made.set(name, label);
      return label;
    },
    optionsOf: (name, text) => {
      if (text === "") return NONE;
      const key = `${name}=${text}`;
      const list =
        known.get(key) ?? Object.freeze(text.split(",").map((option) => optionOf(name, option)));
      known.set(key, list);
      return list;
    },
    groupOf: (group) => groups[group] ?? "",
  };
}
