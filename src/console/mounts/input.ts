import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import {
  type Mount,
  MountContent,
  type MountInput,
  MountInputSchema,
  MountOverrideSchema,
  MountSchema,
} from "../../../gen/mooring/v1/mount_pb.js";
import type { PairList } from "../components/pair-list.ts";
import type { Values } from "../drivers/shown.ts";
import {
  type ChosenSites,
  choiceOf,
  chosenOf,
  plainSites,
  readSites,
} from "../records/chosen-sites.ts";
import { type KeptMessage, readMessage, writeMessage } from "../records/kept-message.ts";
import { MASK, withoutSecretsOfSites } from "../records/secret-pairs.ts";

/** Items of the form that are separate members of a mount. */
export const OWN_ITEMS = new Set(["mount_path", "driver", "disabled"]);

/** Values of a mount for a form; secrets are empty. */
function formValues(mount: Mount | undefined): Values {
  if (mount === undefined) return {};
  const entries = Object.entries({ ...mount.members, ...mount.config });
  return Object.fromEntries([
    ["mount_path", mount.mountPath],
    ...entries.flatMap(([name, value]) => (value === MASK ? [] : [[name, String(value)]])),
  ]);
}

/** Inputs of the form, and the mount that they started from. */
export interface Draft {
  readonly base: Mount | undefined;
  readonly name: string;
  readonly sites: ChosenSites;
  readonly disabled: boolean;
  readonly content: MountContent;
  readonly overrides: Overrides;
  readonly values: Values;
  /** Items whose value was typed. */
  readonly touched: ReadonlySet<string>;
}

export function draftOf(mount: Mount | undefined): Draft {
  return {
    base: mount,
    name: mount?.name ?? "",
    sites: chosenOf(mount?.sites),
    disabled: mount?.disabled ?? false,
    content: mount?.content ?? MountContent.UNSPECIFIED,
    overrides: overridesOf(mount),
    values: formValues(mount),
    touched: new Set(),
  };
}

/** Inputs that are compared as a whole. */
const PARTS = ["name", "sites", "disabled", "content", "overrides"] as const;

/** Names of the inputs that were typed, or differ from those of the mount. */
export function changesOf(draft: Draft): readonly string[] {
  const before = draftOf(draft.base);
  const names = Object.keys({ ...before.values, ...draft.values });
  return [
    ...PARTS.filter((part) => !isSame(draft, before, part)),
    ...names.filter(
      (name) => draft.touched.has(name) || draft.values[name] !== before.values[name],
    ),
  ];
}

/** The changed inputs, on a newer state of the mount. */
export function rebased(draft: Draft, mount: Mount): Draft {
  const [before, now] = [draftOf(draft.base), draftOf(mount)];
  const edited = PARTS.filter((part) => !isSame(draft, before, part));
  const typed = [...draft.touched].map((name) => [name, draft.values[name] ?? ""]);
  return {
    ...now,
    ...Object.fromEntries(edited.map((part) => [part, draft[part]])),
    values: { ...now.values, ...Object.fromEntries(typed) },
    touched: draft.touched,
  };
}

function isSame(one: Draft, other: Draft, part: (typeof PARTS)[number]): boolean {
  const plain = (draft: Draft): string => {
    if (part === "sites") return JSON.stringify(plainSites(draft.sites));
    return JSON.stringify(part === "overrides" ? [...draft.overrides] : draft[part]);
  };
  return plain(one) === plain(other);
}

/** Inputs as the browser keeps them. */
interface KeptDraft {
  readonly base: KeptMessage;
  readonly name: string;
  readonly sites: ReturnType<typeof plainSites>;
  readonly disabled: boolean;
  readonly content: MountContent;
  /** Path and values by site. */
  readonly overrides: readonly (readonly [string, OverrideTexts])[];
  /** Typed values. */
  readonly values: Values;
}

/**
 * Inputs without secrets, and the names of those that are left out. An item counts as secret unless
 * the catalogue says that it is none.
 */
export function writeDraft(draft: Draft, info: DriverInfo | undefined) {
  const items = [...(info?.common ?? []), ...(info?.additional ?? [])];
  const open = new Set(items.flatMap(({ name, secret }) => (secret ? [] : [name])));
  const isOpen = (name: string): boolean => open.has(name) || OWN_ITEMS.has(name);
  const typed = [...draft.touched].map((name) => [name, draft.values[name] ?? ""] as const);
  const pairsOf = (overrides: Overrides) =>
    new Map(Array.from(overrides, ([site, { items: pairs }]) => [site, pairs]));
  const own = withoutSecretsOfSites(
    pairsOf(draft.overrides),
    pairsOf(overridesOf(draft.base)),
    isOpen,
  );
  const value: KeptDraft = {
    base: writeMessage(MountSchema, draft.base),
    name: draft.name,
    sites: plainSites(draft.sites),
    disabled: draft.disabled,
    content: draft.content,
    overrides: Array.from(draft.overrides, ([site, { mountPath }]) => [
      site,
      { mountPath, items: own.pairs.get(site) ?? [] },
    ]),
    values: Object.fromEntries(typed.filter(([name]) => isOpen(name))),
  };
  const lost = typed.flatMap(([name, text]) => (isOpen(name) || text === "" ? [] : [name]));
  return { value, secrets: [...lost, ...own.lost] };
}

/** The inputs that `writeDraft` has returned. */
export function readDraft(kept: unknown): Draft {
  const { base, sites, overrides, values, ...rest } = kept as KeptDraft;
  const before = draftOf(readMessage(MountSchema, base));
  return {
    ...before,
    ...rest,
    sites: readSites(sites),
    overrides: new Map(overrides),
    values: { ...before.values, ...values },
    touched: new Set(Object.keys(values)),
  };
}

/** Changes of a mount by a form, in the types of the catalogue. */
export function inputOf(
  { base, name, sites, disabled, content, overrides, values, touched }: Draft,
  info: DriverInfo,
): MountInput {
  const given = (items: readonly ConfigItem[]): JsonObject =>
    Object.fromEntries(
      items.flatMap((item): [string, JsonValue][] =>
        touched.has(item.name) && !OWN_ITEMS.has(item.name)
          ? [[item.name, typed(item, values[item.name] ?? "")]]
          : [],
      ),
    );
  return create(MountInputSchema, {
    name: name.trim(),
    disabled,
    content,
    overrides: changedOverrides(base, overrides, info),
    config: given(info.additional),
    members: given(info.common),
    ...(touched.has("mount_path") && { mountPath: values["mount_path"] ?? "" }),
    ...(base === undefined
      ? { driver: info.config?.name ?? "", expectedEtag: "0" }
      : { expectedEtag: base.etag }),
    ...choiceOf(sites, base === undefined),
  });
}

/** Own values of a mount on sites, as texts by site. */
export type Overrides = ReadonlyMap<string, OverrideTexts>;

export interface OverrideTexts {
  /** Empty: the mount's path. */
  readonly mountPath: string;
  readonly items: PairList;
}

/** Own values of a mount, as texts for the form. */
function overridesOf(mount: Mount | undefined): Overrides {
  const entries = Object.entries(mount?.overrides ?? {});
  return new Map(
    entries.map(([site, { mountPath, config, members }]) => {
      const items = Object.entries({ ...members, ...config });
      return [site, { mountPath, items: items.map(([name, value]) => [name, String(value)]) }];
    }),
  );
}

/** Overrides that differ from those of the mount; an empty one removes it. */
function changedOverrides(
  mount: Mount | undefined,
  overrides: Overrides,
  info: DriverInfo,
): MountInput["overrides"] {
  const before = overridesOf(mount);
  const common = new Map(info.common.map((item) => [item.name, item]));
  const own = new Map(info.additional.map((item) => [item.name, item]));
  const sites = new Set([...before.keys(), ...overrides.keys()]);
  const changed = [...sites].filter(
    (site) => JSON.stringify(before.get(site)) !== JSON.stringify(overrides.get(site)),
  );
  return Object.fromEntries(
    changed.map((site) => {
      const { mountPath = "", items = [] } = overrides.get(site) ?? {};
      const given = items.filter(([name]) => name.trim() !== "");
      const values = (isMember: boolean): JsonObject =>
        Object.fromEntries(
          given.flatMap(([name, text]): [string, JsonValue][] => {
            if (common.has(name) !== isMember) return [];
            const item = common.get(name) ?? own.get(name);
            return [[name.trim(), item === undefined ? text : typed(item, text)]];
          }),
        );
      const override = { mountPath, config: values(false), members: values(true) };
      return [site, create(MountOverrideSchema, override)];
    }),
  );
}

/** Empty text of a number removes the value; invalid text stays text, which the service reports. */
function typed(item: ConfigItem, text: string): JsonValue {
  if (item.type === "bool") return text === "true";
  if (item.type !== "number" && item.type !== "float") return text;
  if (text === "") return null;
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** The item that a violation is about, such as `root_folder_path` of `mounts[0].config.root_folder_path`. */
export function itemOf(field: string): string {
  const [, name = ""] = /^mounts\[0\]\.(?:config\.|members\.)?(.+)$/s.exec(field) ?? [];
  return name;
}

/** Item with a secret, of the mount or of its own values on a site. */
export interface SecretPlace {
  readonly item: string;
  /** Empty: the mount itself. */
  readonly site: string;
}
