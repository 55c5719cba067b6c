import type { ArchiveEntry, SecretValue } from "../../archive/part.ts";
import { message, type Text } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import { readDeclared } from "../declared-mount.ts";
import type { MountInput } from "../input.ts";

/** Secret of an entry; without a value if the archive does not have it. */
export interface GivenSecret {
  /** Name of a site in the archive; empty: the mount itself. */
  readonly site: string;
  readonly item: string;
  readonly value: SecretValue | undefined;
}

/** Problem of an entry, by the path of its member. It never quotes a value. */
export interface EntryProblem {
  readonly path: readonly string[];
  readonly problem: Text;
}

/** Reads an entry and checks the types of all members. */
export function checkEntry({ name, content, secrets, missing }: ArchiveEntry): {
  readonly declared: MountInput;
  readonly secrets: readonly GivenSecret[];
  readonly problems: readonly EntryProblem[];
} {
  const problems: EntryProblem[] = [];
  const declared = readDeclared(name, content, (path, problem) => {
    problems.push({ path, problem });
  });
  const { config = {}, members = {}, overrides = {} } = declared;
  const groups = [
    { place: ["config"], values: config },
    { place: ["members"], values: members },
    ...Object.entries(overrides).flatMap(([site, own]) => [
      { place: ["overrides", site, "config"], values: own.config },
      { place: ["overrides", site, "members"], values: own.members },
    ]),
  ];
  for (const { place, values } of groups)
    for (const [item, value] of Object.entries(values))
      if (!["string", "number", "boolean"].includes(typeof value))
        problems.push({
          path: [...place, item],
          problem: message("BACKUP_MEMBER_INVALID", {
            name: item.slice(0, 64),
            form: message("FORM_SCALAR"),
          }),
        });
  const places = [...Object.keys(secrets), ...missing];
  const given = places.flatMap((place): GivenSecret[] => {
    const found = readSecretName(place);
    if (found !== undefined) return [{ ...found, value: ownValue(secrets, place) }];
    problems.push({
      path: ["secrets"],
      problem: message("BACKUP_SECRET_UNKNOWN", { name: place.slice(0, 64) }),
    });
    return [];
  });
  return { declared, secrets: given, problems };
}

/** Place of a secret by its name in an entry (`secretName`). */
function readSecretName(
  name: string,
): { readonly site: string; readonly item: string } | undefined {
  const [, site = "", item] = /^(?:overrides\/([^/]+)\/)?config\/(.+)$/s.exec(name) ?? [];
  return item === undefined ? undefined : { site, item };
}
