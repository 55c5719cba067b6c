import { create } from "@bufbuild/protobuf";
import {
  type Rule,
  type RuleInput,
  RuleInputSchema,
  type RuleOverride,
  RuleOverrideSchema,
  RuleSchema,
} from "../../../gen/mooring/v1/rule_pb.js";
import type { PairList } from "../components/pair-list.ts";
import { changedMembers } from "../records/changed-members.ts";
import {
  type ChosenSites,
  choiceOf,
  chosenOf,
  plainSites,
  readSites,
} from "../records/chosen-sites.ts";
import { type KeptMessage, readMessage, writeMessage } from "../records/kept-message.ts";
import { MASK, withoutSecretsOfSites } from "../records/secret-pairs.ts";

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

/** Inputs that are compared as a whole. */
const PARTS = ["path", "isOpen", "sites", "overrides"] as const;

/** Names of the inputs that differ from those of the rule. */
export function changesOf(draft: RuleDraft): readonly string[] {
  const before = draftOf(draft.base);
  return [
    ...PARTS.filter((part) => !isSame(draft, before, part)),
    ...Object.keys(changedMembers(before.texts, draft.texts)),
    ...Object.keys(changedMembers(before.switches, draft.switches)),
  ];
}

function isSame(one: RuleDraft, other: RuleDraft, part: (typeof PARTS)[number]): boolean {
  const plain = (draft: RuleDraft): string => {
    if (part === "sites") return JSON.stringify(plainSites(draft.sites));
    return JSON.stringify(part === "overrides" ? [...draft.overrides] : draft[part]);
  };
  return plain(one) === plain(other);
}

/** The changed inputs, on a newer state of the rule. */
export function rebased(draft: RuleDraft, rule: Rule): RuleDraft {
  const [before, now] = [draftOf(draft.base), draftOf(rule)];
  const edited = PARTS.filter((part) => !isSame(draft, before, part));
  return {
    ...now,
    texts: { ...now.texts, ...changedMembers(before.texts, draft.texts) },
    switches: { ...now.switches, ...changedMembers(before.switches, draft.switches) },
    ...Object.fromEntries(edited.map((part) => [part, draft[part]])),
  };
}

/** Inputs as the browser keeps them. */
interface KeptDraft extends Pick<RuleDraft, "path" | "texts" | "switches" | "isOpen"> {
  readonly base: KeptMessage;
  readonly sites: ReturnType<typeof plainSites>;
  readonly overrides: readonly (readonly [string, PairList])[];
}

/** Inputs without passwords, and the names of those that are left out. */
export function writeDraft(draft: RuleDraft) {
  const { base, path, texts, switches, isOpen, sites, overrides } = draft;
  const isNoSecret = (name: string): boolean => name !== "password" && MEMBER_NAMES.includes(name);
  const own = withoutSecretsOfSites(overrides, draftOf(base).overrides, isNoSecret);
  const value: KeptDraft = {
    base: writeMessage(RuleSchema, base),
    path,
    texts: { ...texts, password: "" },
    switches,
    isOpen,
    sites: plainSites(sites),
    overrides: [...own.pairs],
  };
  return { value, secrets: [...(texts.password === "" ? [] : ["password"]), ...own.lost] };
}

/** The inputs that `writeDraft` has returned. */
export function readDraft(kept: unknown): RuleDraft {
  const { base, sites, overrides, ...rest } = kept as KeptDraft;
  return {
    ...rest,
    base: readMessage(RuleSchema, base),
    sites: readSites(sites),
    overrides: new Map(overrides),
  };
}

/** The inputs as a change: only values that differ from those of the rule. */
export function inputOf(draft: RuleDraft): RuleInput {
  const before = draftOf(draft.base);
  const { texts, switches, sites, base } = draft;
  const text = (name: "hide" | "readme" | "header") =>
    texts[name] === before.texts[name] ? {} : { [name]: texts[name] };
  const users = (name: "readUsers" | "writeUsers") =>
    texts[name] === before.texts[name] ? {} : { [name]: listOf(namesIn(texts[name])) };
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
    ...changedMembers(before.switches, switches),
    ...choiceOf(sites, isNew),
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
