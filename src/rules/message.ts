import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type RuleInput as RuleInputMessage,
  type Rule as RuleMessage,
  type RuleOverride as RuleOverrideMessage,
  type RuleResult as RuleResultMessage,
  RuleResultSchema,
  RuleSchema,
  type RuleStatus as RuleStatusMessage,
  RuleStatusSchema,
} from "../../gen/mooring/v1/rule_pb.js";
import { effectToProto } from "../history/effect.ts";
import type { RecordResult } from "../history/record-result.ts";
import type { Text } from "../messages/message.ts";
import type { RecordEtag } from "../records/etag.ts";
import { MASK } from "../settings/value.ts";
import { overridesByName, siteNamesOf } from "../sites/site-choice.ts";
import { choiceFromProto, choiceToProto } from "../sites/site-choice-message.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { RuleInput } from "./input.ts";
import { passwordFields, type Rule, type RuleMember, type RuleValues } from "./rule.ts";
import type { RuleStatus } from "./rule-status.ts";
import type { ValueInput } from "./value.ts";

/** @param at index of the rule in the request. @throws INVALID_ARGUMENT for an ambiguous choice of sites. */
export function inputFromProto(input: RuleInputMessage, at: number): RuleInput {
  const { path, sites, overrides, expectedEtag } = input;
  return {
    path,
    values: valuesFromProto(input),
    sites: sites && choiceFromProto(sites, `rules[${at}].sites`),
    ...(Object.keys(overrides).length > 0 && {
      overrides: Object.fromEntries(
        Object.entries(overrides).map(([site, override]) => [
          site,
          { path: override.path ?? "", values: valuesFromProto(override) },
        ]),
      ),
    }),
    expectedEtag,
  };
}

function valuesFromProto(input: RuleInputMessage | RuleOverrideMessage): ValueInput {
  return {
    password: input.password,
    p_sub: input.pSub,
    write: input.write,
    w_sub: input.wSub,
    hide: input.hide,
    h_sub: input.hSub,
    readme: input.readme,
    r_sub: input.rSub,
    header: input.header,
    header_sub: input.headerSub,
    read_users: usersFromProto(input.readUsers),
    read_users_sub: input.readUsersSub,
    write_users: usersFromProto(input.writeUsers),
    write_users_sub: input.writeUsersSub,
  } satisfies Record<RuleMember, unknown>;
}

/** Elements of a list; those that are no texts are violations later. */
function usersFromProto(list: RuleInputMessage["readUsers"]): readonly unknown[] | undefined {
  return list?.values.map(({ kind }) => kind.value);
}

export interface RuleShow {
  /** Shows passwords in the clear. */
  readonly reveals: boolean;
  readonly say: (text: Text) => string;
  readonly names: SiteNames;
  readonly etagOf: RecordEtag<Rule>;
}

export function ruleToProto(
  rule: Rule,
  statuses: readonly RuleStatus[],
  { reveals, say, names, etagOf }: RuleShow,
): RuleMessage {
  const shown = (password: string): string => (reveals || password === "" ? password : MASK);
  const { values } = rule;
  return create(RuleSchema, {
    path: rule.path,
    password: shown(values.password),
    pSub: values.p_sub,
    write: values.write,
    wSub: values.w_sub,
    hide: values.hide,
    hSub: values.h_sub,
    readme: values.readme,
    rSub: values.r_sub,
    header: values.header,
    headerSub: values.header_sub,
    readUsers: [...values.read_users],
    readUsersSub: values.read_users_sub,
    writeUsers: [...values.write_users],
    writeUsersSub: values.write_users_sub,
    sites: choiceToProto(siteNamesOf(rule, names)),
    overrides: Object.fromEntries(
      overridesByName(rule, names).map(([site, { path, values: own }]) => [
        site,
        { ...(path !== "" && { path }), ...overrideToProto(own, shown) },
      ]),
    ),
    revision: BigInt(rule.revision),
    etag: etagOf(rule),
    missing: passwordFields(rule.missing, names),
    status: statuses.map((status) => statusToProto(status, say)),
  });
}

/** Given values only: the others are the rule's. */
function overrideToProto(own: Partial<RuleValues>, shown: (password: string) => string) {
  const { password, read_users: readers, write_users: writers } = own;
  const given = <N extends string, V>(name: N, value: V | undefined) =>
    value === undefined ? {} : { [name]: value };
  return {
    ...given("password", password === undefined ? undefined : shown(password)),
    ...given("pSub", own.p_sub),
    ...given("write", own.write),
    ...given("wSub", own.w_sub),
    ...given("hide", own.hide),
    ...given("hSub", own.h_sub),
    ...given("readme", own.readme),
    ...given("rSub", own.r_sub),
    ...given("header", own.header),
    ...given("headerSub", own.header_sub),
    ...given("readUsers", readers && usersToProto(readers)),
    ...given("readUsersSub", own.read_users_sub),
    ...given("writeUsers", writers && usersToProto(writers)),
    ...given("writeUsersSub", own.write_users_sub),
  };
}

function usersToProto(users: readonly string[]) {
  return {
    values: users.map((value) => ({ kind: { case: "stringValue", value } as const })),
  };
}

export function statusToProto(status: RuleStatus, say: (text: Text) => string): RuleStatusMessage {
  const { site, path, state, applied, differs, agrees, cause, remedy, since, readAt } = status;
  return create(RuleStatusSchema, {
    site,
    path,
    state,
    agrees,
    differs: [...differs],
    error: say(cause),
    remedy: say(remedy),
    appliedRevision: BigInt(applied),
    ...(since > 0 && { sinceTime: timestampFromMs(since) }),
    ...(readAt > 0 && { readTime: timestampFromMs(readAt) }),
  });
}

export function resultToProto(
  { name, outcome, note, differs, leftOut = [], effects = [] }: RecordResult,
  say: (text: Text) => string,
): RuleResultMessage {
  return create(RuleResultSchema, {
    path: name,
    outcome,
    note: say(note),
    differs: [...differs],
    leftOut: [...leftOut],
    effects: effects.map(effectToProto),
  });
}
