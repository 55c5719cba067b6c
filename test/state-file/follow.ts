import type { Archive } from "../../src/archive/archive.ts";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";
import { createDeclared } from "../../src/state-file/declared.ts";
import { type FollowDeps, followFile } from "../../src/state-file/follow.ts";
import { SETTINGS_FILE } from "../../src/state-file/form.ts";
import { shapeOf } from "../../src/state-file/setting-value.ts";
import { fixedSites } from "../sites/names.ts";

const definitions = new Map(loadSettingDefinitions().map((each) => [each.key, each]));

/** Applies a settings file to an archive, and follows it. @returns a function that ends this. */
export function followSettings(
  { archive }: { readonly archive: Pick<Archive, "import" | "parts"> },
  path: string,
  more: Partial<FollowDeps> = {},
): Promise<() => Promise<void>> {
  return followFile({
    file: { form: SETTINGS_FILE, path },
    env: {},
    archive,
    declared: createDeclared(),
    sites: fixedSites(),
    shapeOf: (key) => {
      const definition = definitions.get(key);
      return definition && shapeOf(definition.format);
    },
    onApplied: () => undefined,
    onProblems: () => undefined,
    onError: () => undefined,
    ...more,
  });
}
