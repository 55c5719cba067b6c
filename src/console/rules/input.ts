import { create } from "@bufbuild/protobuf";
import {
  type Rule,
  type RuleInput,
  RuleInputSchema,
  type RuleOverride,
  RuleOverrideSchema,
} from "../../../gen/mooring/v1/rule_pb.js";
import { SiteChoiceSchema } from "../../../gen/mooring/v1/site_choice_pb.js";
import type { PairList } from "../components/pair-list.ts";
import { type ChosenSites, chosenOf, MASK } from "../mounts/input.ts";

/** Values of a rule with their switch for the folders below. */
export const VALUES = [
  { name: "password", below: "pSub" },
  { name: "write", below: "wSub" },
  { name: "hide", below: "hSub" },
  { name: "readme", below: "rSub" },
  { name: "header", below: "headerSub" },
  { name: "readUsers", below: "readUsersSub" },
  { name: "writeUsers", below: "writeUsersSub" },
] as const;

export type ValueName = (typeof VALUES)[number]["name"];
type SwitchName = (typeof VALUES)[number]["below"] | "write";

/** Members of an override by their names in the contract. */
const MEMBERS = {
  path: "text",
  password: "text",
  hide: "text",
  readme: "text",
  header: "text",
  p_sub: "switch",
  write: "switch",
  w_sub: "switch",
  h_sub: "switch",
  r_sub: "switch",
  header_sub: "switch",
  read_users: "names",
  read_users_sub: "switch",
  write_users: "names",
  write_users_sub: "switch",
} as const;

export const MEMBER_NAMES: readonly string[] = Object.keys(MEMBERS);

/** Inputs of the form of a rule. */
export interface RuleDraft {
  /** The rule that they started from; undefined: a new one. */
  readonly base: Rule | undefined;
  readonly path: string;
  /** Texts of values; users one per line. The password is empty unless a new one is typed. */
  readonly texts: Readonly<Record<Exclude<ValueName, "write">, string>>;
  readonly switches: Readonly<Record<SwitchName, boolean>>;
  /** Whether the password is removed. */
  readonly isOpen: boolean;
  readonly sites: ChosenSites;
  /** Own values of sites, as texts by site. */
  readonly overrides: ReadonlyMap<string, PairList>;
}

export function draftOf(rule: Rule | undefined): RuleDraft {
  return {
    base: rule,
    path: rule?.path ?? "",
    texts: {
      password: "",
      hide: rule?.hide ?? "",
      readme: rule?.readme ?? "",
      header: rule?.header ?? "",
      readUsers: rule?.readUsers.join("\n") ?? "",
      writeUsers: rule?.writeUsers.join("\n") ?? "",
    },
    switches: {
      write: rule?.write ?? false,
      pSub: rule?.pSub ?? false,
      wSub: rule?.wSub ?? false,
      hSub: rule?.hSub ?? false,
      rSub: rule?.rSub ?? false,
      headerSub: rule?.headerSub ?? false,
      readUsersSub: rule?.readUsersSub ?? false,
      writeUsersSub: rule?.writeUsersSub ?? false,
    },
    isOpen: false,
    sites: chosenOf(rule?.sites),
    overrides: new Map(
      Object.entries(rule?.overrides ?? {}).map(([site, own]) => [site, pairsOf(own)]),
    ),
  };
}

/** Reports whether somebody has changed inputs of the form. */
export function isEdited(draft: RuleDraft): boolean {
  return plain(draft) !== plain(draftOf(draft.base));
}

function plain({ path, texts, switches, isOpen, sites, overrides }: RuleDraft): string {
  const names = [...sites.names].sort();
  return JSON.stringify([path, texts, switches, isOpen, sites.all, names, [...overrides]]);
}

/** The inputs as a change: only values that differ from those of the rule. */
export function inputOf(draft: RuleDraft): RuleInput {
  const before = draftOf(draft.base);
  const { texts, switches, sites, base } = draft;
  const text = (name: "hide" | "readme" | "header") =>
    texts[name] === before.texts[name] ? {} : { [name]: texts[name] };
  const users = (name: "readUsers" | "writeUsers") =>
    texts[name] === before.texts[name] ? {} : { [name]: listOf(namesIn(texts[name])) };
  const changed = Object.entries(switches).filter(
    ([name, value]) => before.switches[name as SwitchName] !== value,
  );
  const isNew = base === undefined;
  return create(RuleInputSchema, {
    path: draft.path.trim(),
    ...(draft.isOpen && { password: "" }),
    ...(!draft.isOpen && texts.password !== "" && { password: texts.password }),
    ...text("hide"),
    ...text("readme"),
    ...text("header"),
    ...users("readUsers"),
    ...users("writeUsers"),
    ...Object.fromEntries(changed),
    ...((!isNew || sites.all || sites.names.size > 0) && {
      sites: create(SiteChoiceSchema, {
        names: [...sites.names],
        all: sites.all,
        none: !sites.all && sites.names.size === 0,
      }),
    }),
    overrides: changedOverrides(before, draft),
    expectedEtag: isNew ? "0" : base.etag,
  });
}

function changedOverrides(before: RuleDraft, now: RuleDraft): Record<string, RuleOverride> {
  const sites = new Set([...before.overrides.keys(), ...now.overrides.keys()]);
  const changed = [...sites].filter(
    (site) =>
      JSON.stringify(before.overrides.get(site)) !== JSON.stringify(now.overrides.get(site)),
  );
  return Object.fromEntries(
    changed.map((site) => [site, overrideOf(now.overrides.get(site) ?? [])]),
  );
}

function overrideOf(pairs: PairList): RuleOverride {
  const values = pairs.flatMap(([name, text]): (readonly [string, unknown])[] => {
    const kind = MEMBERS[name.trim() as keyof typeof MEMBERS];
    if (kind === undefined) return [];
    const member = camelCase(name.trim());
    if (kind === "switch") return [[member, text.trim() === "true"]];
    return [[member, kind === "names" ? listOf(namesIn(text)) : text]];
  });
  return create(RuleOverrideSchema, Object.fromEntries(values));
}

function pairsOf(own: RuleOverride): PairList {
  return MEMBER_NAMES.flatMap((name): [string, string][] => {
    const value: unknown = own[camelCase(name) as keyof RuleOverride];
    if (value === undefined) return [];
    const names = (value as { readonly values?: unknown[] }).values;
    return [[name, names === undefined ? String(value) : names.map(textOf).join("\n")]];
  });
}

/** Text of a value of a `google.protobuf.ListValue`. */
function textOf(value: unknown): string {
  const { kind } = value as { readonly kind?: { readonly value?: unknown } };
  return String(kind?.value ?? value);
}

function listOf(names: readonly string[]) {
  return { values: names.map((value) => ({ kind: { case: "stringValue" as const, value } })) };
}

function namesIn(text: string): string[] {
  return text.split(/[\n,]/).flatMap((name) => name.trim() || []);
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Reports whether the rule has a password. */
export function hasPassword(rule: Rule | undefined): boolean {
  return rule?.password === MASK;
}
