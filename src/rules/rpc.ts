import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Rule as RuleMessage } from "../../gen/mooring/v1/rule_pb.js";
import {
  AdoptRulesResponseSchema,
  CompareRulesResponseSchema,
  DeleteRulesResponseSchema,
  GetRuleResponseSchema,
  ListRulesResponseSchema,
  MoveRuleResponseSchema,
  type RuleService as RuleServiceDesc,
  SaveRulesResponseSchema,
  SyncRulesResponseSchema,
  WatchRulesResponseSchema,
} from "../../gen/mooring/v1/rule_service_pb.js";
import { grantOf, whileAllowed } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import type { PendingSites } from "../history/pending-site.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { callerOf } from "../records/caller.ts";
import { createChangeReply, createRevealing, recordPage } from "../records/reply.ts";
import { createRecordStream } from "../records/stream.ts";
import { secretSubject } from "../records/subject.ts";
import { overridesByName } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { mapInTicks } from "../ticks.ts";
import { SITE_RULES } from "./kind.ts";
import { inputFromProto, resultToProto, ruleToProto, statusToProto } from "./message.ts";
import type { Rule } from "./rule.ts";
import type { RuleService } from "./rule-service.ts";
import { PASSWORD } from "./stored.ts";
import type { WatchedRule, WatchedSource } from "./watch.ts";

/** Data of the messages besides rules. */
export interface RuleSource {
  readonly rules: RuleService;
  /** Names of the sites that this process knows. */
  siteNames(): SiteNames;
  readonly pendingSites: PendingSites;
}

/** Implements RuleService. */
export function ruleImpl(
  source: RuleSource,
  audit: Pick<Recorder, "note">,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof RuleServiceDesc> {
  const { rules, siteNames } = source;
  const sayIn = createSayIn(translations);
  const showIn = (context: HandlerContext, reveals: boolean) => {
    const say = sayIn(context);
    return (rule: Rule): RuleMessage =>
      ruleToProto(rule, rules.statuses(rule), {
        reveals,
        say,
        names: siteNames(),
        etagOf: rules.etagOf,
      });
  };
  const { revealing, noteDryRun } = createRevealing(
    SITE_RULES,
    (rule: Rule) => passwordSubjects(rule, siteNames()),
    audit,
  );
  const { resultsOf, changeReply } = createChangeReply(SITE_RULES, {
    saved: rules.saved,
    pendingSites: source.pendingSites,
    sayIn,
    resultToProto,
  });
  return {
    listRules: async ({ site, ...request }, context) => {
      const revision = BigInt(rules.revision());
      const listed = await rules.list(grantOf(context), site);
      const { items, next } = recordPage(SITE_RULES, listed, request, rules.siteCount());
      const reveals = revealing(context, request.reveal, items);
      return create(ListRulesResponseSchema, {
        rules: await mapInTicks(items, showIn(context, reveals), context.signal),
        nextPageToken: next,
        revision,
      });
    },
    getRule: ({ path, reveal }, context) => {
      const rule = rules.get(rules.pathOf(path), grantOf(context));
      const reveals = revealing(context, reveal, [rule]);
      return create(GetRuleResponseSchema, { rule: showIn(context, reveals)(rule) });
    },
    saveRules: async (request, context) => {
      const { dryRun, reason } = request;
      const inputs = request.rules
        .map(inputFromProto)
        .map((input) => ({ ...input, path: rules.pathOf(input.path) }));
      const saved = await rules.save(inputs, callerOf(context, reason), { dryRun });
      const paths = inputs.map(({ path }) => path);
      if (dryRun) noteDryRun(context, paths);
      return create(SaveRulesResponseSchema, {
        ...changeReply(saved, context, { dryRun }),
      });
    },
    moveRule: async ({ path: asked, newPath, dryRun, reason, expectedEtag }, context) => {
      const path = rules.pathOf(asked);
      const before = rules.saved(new Set([path]));
      const options = { dryRun, expectedEtag };
      const saved = await rules.move(path, newPath, callerOf(context, reason), options);
      return create(MoveRuleResponseSchema, {
        ...changeReply(saved, context, { dryRun, before }),
      });
    },
    deleteRules: async ({ paths: asked, reason, dryRun }, context) => {
      const paths = asked.map(rules.pathOf);
      const before = rules.saved(new Set(paths));
      const saved = await rules.delete(paths, callerOf(context, reason), { dryRun });
      return create(DeleteRulesResponseSchema, {
        ...changeReply(saved, context, { dryRun, before }),
      });
    },
    compareRules: async ({ site }, context) => {
      const results = await whileAllowed(context, () => rules.compare(site, context.signal));
      return create(CompareRulesResponseSchema, { results: resultsOf(results, context) });
    },
    syncRules: async ({ site, paths }, context) => {
      const say = sayIn(context);
      const status = await whileAllowed(context, () =>
        rules.sync(site, paths.map(rules.pathOf), originOf(context), context.signal),
      );
      return create(SyncRulesResponseSchema, {
        status: status.map((each) => statusToProto(each, say)),
      });
    },
    adoptRules: async ({ site, paths, dryRun, reason }, context) => {
      const asked = paths.map(rules.pathOf);
      const saved = await whileAllowed(context, (renew) =>
        rules.adopt(site, asked, { ...callerOf(context, reason), renew }, { dryRun }),
      );
      return create(AdoptRulesResponseSchema, {
        ...changeReply(saved, context, { dryRun }),
      });
    },
    watchRules: createRecordStream(rules.watch, translations, {
      show: ({ rule, statuses }: WatchedRule, say) =>
        ruleToProto(rule, statuses, {
          reveals: false,
          say,
          names: siteNames(),
          etagOf: rules.etagOf,
        }),
      event: (changed, removed: readonly WatchedRule[], { snapshot }: WatchedSource) =>
        create(WatchRulesResponseSchema, {
          rules: changed,
          removed: removed.map(({ rule }) => rule.path),
          revision: BigInt(snapshot.revision),
        }),
      isAllowed: (grant, { rule }: WatchedRule) => SITE_RULES.isAllowed(grant, rule),
    }),
  };
}

/** Names of a rule's passwords in the audit. */
function passwordSubjects(rule: Rule, names: SiteNames): readonly string[] {
  const subject = (site?: string): string => secretSubject(SITE_RULES, rule.path, PASSWORD, site);
  return [
    ...(rule.values.password === "" ? [] : [subject()]),
    ...overridesByName(rule, names).flatMap(([site, { values }]) =>
      (values.password ?? "") === "" ? [] : [subject(site)],
    ),
  ];
}
