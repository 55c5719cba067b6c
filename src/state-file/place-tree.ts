/** Place of a key of a file, with the places of the keys below it. */
export interface PlaceTree {
  /** Offset in the text. */
  readonly offset: number;
  readonly members: Map<string, PlaceTree>;
}

export function newPlace(offset: number): PlaceTree {
  return { offset, members: new Map() };
}

/** Members of records that have another name in a file. */
const OTHER_NAMES: Readonly<Record<string, string>> = { mount_path: "path" };

/**
 * The deepest known place of a path such as `overrides.quay.config.username`. Names may have dots:
 * the longest one that fits counts.
 */
export function placeAt(tree: PlaceTree, path: string): PlaceTree {
  const names = [...tree.members.keys()].filter(
    (name) => path === name || path.startsWith(`${name}.`),
  );
  const [longest] = names.sort((a, b) => b.length - a.length);
  const other = OTHER_NAMES[path];
  const found = tree.members.get(longest ?? other ?? "");
  if (found === undefined) return tree;
  return longest === undefined ? found : placeAt(found, path.slice(longest.length + 1));
}
