import { isMap, isPair, isScalar, isSeq, type Node } from "yaml";
import { identifierOf, nameOfRecord } from "../archive/identifier.ts";
import { errorText } from "../error-text.ts";
import { newPlace, type PlaceTree } from "./place-tree.ts";
import { shown } from "./problem.ts";
import type { References } from "./reference.ts";
import { settingText, type ValueShape } from "./setting-value.ts";
import { entriesOf, isEmpty, offsetOf } from "./source.ts";

/** Maximum nesting of an entry. */
const MAX_DEPTH = 8;

/** Entry of a section, such as a mount. */
export interface DeclaredEntry {
  readonly name: string;
  /** Its members as in an archive, with references resolved. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** Entry of a section as it was read. */
export interface ReadEntry {
  readonly entry: DeclaredEntry;
  /** Texts from the environment or files, which may be secret. */
  readonly hidden: readonly string[];
}

export interface EntryReaderDeps {
  readonly references: References;
  /** Form of the values of a setting; undefined: it is not defined by the program. */
  readonly shapeOf: (key: string) => ValueShape | undefined;
  /** @param at offset of the key that has the problem; default: the same. */
  readonly report: (offset: number, key: string, reason: string, at?: number) => void;
}

/** Reads the entries of a section: a mapping by their names, or a list as in an archive. */
export function readEntries(
  part: string,
  node: Node | null,
  tree: PlaceTree,
  deps: EntryReaderDeps,
): readonly ReadEntry[] {
  if (isEmpty(node)) return [];
  if (isSeq(node)) return readList(part, node.items, tree, deps);
  if (!isMap(node)) {
    deps.report(tree.offset, "", `"${part}" must be a mapping with an entry for each name`);
    return [];
  }
  const read = part === "settings" ? readSetting : readRecord;
  const entries = entriesOf(node.items, (...problem) => deps.report(...problem));
  return entries.flatMap(({ key, offset, node: value }) => {
    const name = nameOfRecord(part, key);
    if (tree.members.has(name)) {
      deps.report(offset, shown(key), "occurs a second time here");
      return [];
    }
    const place = newPlace(offset);
    tree.members.set(name, place);
    return read(name, value, place, deps) ?? [];
  });
}

function readList(
  part: string,
  items: readonly unknown[],
  tree: PlaceTree,
  deps: EntryReaderDeps,
): readonly ReadEntry[] {
  const identifier = identifierOf(part);
  return items.flatMap((item) => {
    const place = newPlace(offsetOf(item));
    const members = new MemberReader(deps, part === "settings");
    const { [identifier]: given, ...rest } = members.read(item, place);
    if (typeof given !== "string" || given === "") {
      deps.report(place.offset, "", `each item of a list needs "${identifier}"`);
      return [];
    }
    const name = nameOfRecord(part, given);
    if (tree.members.has(name)) {
      const reason = `${JSON.stringify(shown(given))} occurs a second time here`;
      deps.report(place.offset, "", reason);
      return [];
    }
    tree.members.set(name, place);
    return [{ entry: { name, members: rest }, hidden: members.hidden }];
  });
}

/** A known setting has a value; any other one a mapping with `value`, as in an archive. */
function readSetting(
  key: string,
  node: Node | null,
  place: PlaceTree,
  deps: EntryReaderDeps,
): ReadEntry | undefined {
  const shape = deps.shapeOf(key);
  try {
    const isDescribed =
      isMap(node) && shape !== "json" && (shape === undefined || node.has("value"));
    if (!isDescribed) {
      const { text: value, hidden } = settingText(node, shape ?? "json", deps.references);
      return { entry: { name: key, members: { value } }, hidden };
    }
    const members = new MemberReader(deps, true);
    const read = members.read(node, place);
    return {
      entry: { name: key, members: { type: "string", ...read } },
      hidden: members.hidden,
    };
  } catch (error) {
    deps.report(place.offset, shown(key), errorText(error));
    return undefined;
  }
}

function readRecord(
  name: string,
  node: Node | null,
  place: PlaceTree,
  deps: EntryReaderDeps,
): ReadEntry | undefined {
  if (!isMap(node)) {
    deps.report(place.offset, "", `${JSON.stringify(shown(name))} must be a mapping`);
    return undefined;
  }
  const members = new MemberReader(deps, false);
  const read = members.read(node, place);
  return { entry: { name, members: read }, hidden: members.hidden };
}

/** Reader of the members of one entry. */
class MemberReader {
  readonly #deps: EntryReaderDeps;
  readonly #isSetting: boolean;
  readonly #hidden: string[] = [];

  /** @param isSetting whether its member `value` keeps its notation. */
  constructor(deps: EntryReaderDeps, isSetting: boolean) {
    this.#deps = deps;
    this.#isSetting = isSetting;
  }

  /** Texts from the environment or files that were read. */
  get hidden(): readonly string[] {
    return this.#hidden;
  }

  /** Members of a mapping; none of another node. */
  read(node: unknown, place: PlaceTree): Readonly<Record<string, unknown>> {
    return isMap(node) ? this.#mapping(node, place, 0) : {};
  }

  #mapping(
    node: { readonly items: readonly unknown[] },
    place: PlaceTree,
    depth: number,
  ): Readonly<Record<string, unknown>> {
    const { report } = this.#deps;
    const members = new Map<string, unknown>();
    for (const pair of node.items) {
      if (!isPair(pair) || !isScalar(pair.key)) {
        report(offsetOf(node), "", "a key must be text", place.offset);
        continue;
      }
      const key = String(pair.key.value);
      const inner = newPlace(offsetOf(pair.key));
      if (place.members.has(key))
        report(inner.offset, "", `${JSON.stringify(shown(key))} occurs a second time here`);
      place.members.set(key, inner);
      const isText = this.#isSetting && key === "value" && depth === 0 && isScalar(pair.value);
      members.set(key, isText ? this.#text(pair.value) : this.#value(pair.value, inner, depth + 1));
    }
    return Object.fromEntries(members);
  }

  /** Value of a setting in its notation. */
  #text(node: unknown): string {
    const { text, hidden } = settingText(node as Node, "text", this.#deps.references);
    this.#hidden.push(...hidden);
    return text;
  }

  #value(node: unknown, place: PlaceTree, depth: number): unknown {
    const { report } = this.#deps;
    if (depth > MAX_DEPTH) {
      report(offsetOf(node), "", "mappings are nested too deeply", place.offset);
      return null;
    }
    if (isScalar(node)) return this.#scalar(node, place);
    if (isSeq(node))
      return node.items.map((item, number) => {
        const inner = newPlace(offsetOf(item));
        place.members.set(`[${number}]`, inner);
        return this.#value(item, inner, depth + 1);
      });
    if (isMap(node)) return this.#mapping(node, place, depth);
    if (node !== null)
      report(offsetOf(node), "", "anchors and aliases are not supported", place.offset);
    return null;
  }

  #scalar(node: { readonly value: unknown }, place: PlaceTree): unknown {
    const { references, report } = this.#deps;
    if (typeof node.value !== "string") return node.value;
    try {
      const { text, hidden } = references.resolve(node.value);
      this.#hidden.push(...hidden);
      return text;
    } catch (error) {
      report(offsetOf(node), "", errorText(error), place.offset);
      return "";
    }
  }
}
