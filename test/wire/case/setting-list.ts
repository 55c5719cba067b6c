import { expect } from "vitest";
import { PUBLIC_MEMBERS } from "./public.ts";

/** Some settings of each of these groups. */
export function allOfGroups(...groups: readonly number[]): unknown {
  return expect.toSatisfy(
    (settings: { group: number }[]) => {
      const found = new Set(settings.map(({ group }) => group));
      return groups.every((group) => found.has(group)) && found.size === groups.length;
    },
    `settings of the groups ${groups.join(", ")} only`,
  );
}

/** All settings. */
export function wholeList(): unknown {
  return expect.toSatisfy(
    (settings: { key: string }[]) =>
      PUBLIC_MEMBERS.concat("token").every((key) => settings.some((one) => one.key === key)),
    "the list of all settings",
  );
}
