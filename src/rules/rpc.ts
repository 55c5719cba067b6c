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
  type WatchRulesResponse,
  WatchRulesResponseSchema,
} from "../../gen/mooring/v1/rule_service_pb.js";
import { type Grant, grantOf, ROOT, whileAllowed } from "../access/grant.ts";
import { auditOriginOf, originOf } from "../audit/entry.ts";
import { dryRunOf, type Recorder } from "../audit/recorder.ts";
import { createPendingReply, type PendingSites } from "../history/pending-site.ts";
import type { RecordResult } from "../history/record-result.ts";
import { memoize } from "../memoize.ts";
import { denied } from "../messages/error.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf, createSayIn } from "../messages/localize.ts";
import { message, textIn } from "../messages/message.ts";
import { pageLimit } from "../messages/page.ts";
import { callerOf } from "../records/caller.ts";
import { isOnSite, overridesByName } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createView } from "../state-feed.ts";
import { mapInTicks } from "../ticks.ts";
import { inputFromProto, resultToProto, ruleToProto, statusToProto } from "./message.ts";
import { isAllowed, type Rule } from "./rule.ts";
import type { RuleService } from "./rule-service.ts";
import { passwordSubject, subjectOf } from "./subject.ts";
import type { WatchedRule, WatchedRules } from "./watch.ts";

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
  const resultIn = (context: HandlerContext) => {
    const say = sayIn(context);
    return (result: RecordResult) => resultToProto(result, say);
  };
  const revealing = createRevealing(audit, siteNames);
  const pendingOf = createPendingReply(source.pendingSites, sayIn);
  /** Sites of changed rules that do not get the change now. @param before deleted ones. */
  const pending = (
    results: readonly RecordResult[],
    context: HandlerContext,
    before: readonly Rule[] = [],
  ) => {
    const paths = new Set(
      results.flatMap(({ name, outcome }) =>
        outcome === "unchanged" || outcome === "skipped" ? [] : [name],
      ),
    );
    const changed = [...rules.saved(paths), ...before.filter(({ path }) => paths.has(path))];
    return pendingOf(context, (siteId) => changed.some((rule) => isOnSite(rule, siteId)));
  };
  return {
    listRules: async ({ site, pageSize, pageToken, reveal }, context) => {
      const limit = pageLimit(pageSize, { usual: 1_000, beyond: "invalid" });
      const revision = BigInt(rules.revision());
      const listed = await rules.list(grantOf(context), site);
      const found = listed.filter(({ path }) => path > pageToken);
      const page = found.slice(0, limit);
      const reveals = revealing(context, reveal, page);
      return create(ListRulesResponseSchema, {
        rules: await mapInTicks(page, showIn(context, reveals), context.signal),
        nextPageToken: found.length > limit ? (page.at(-1)?.path ?? "") : "",
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
      const caller = callerOf(context, reason);
      const saved = await rules.save(inputs, caller, { dryRun });
      // Dry runs with guessed passwords could reveal them.
      if (dryRun && !caller.grant.has("rules:reveal"))
        audit.note(
          dryRunOf(
            context,
            inputs.map(({ path }) => subjectOf(path)),
          ),
        );
      return create(SaveRulesResponseSchema, {
        revision: BigInt(saved.revision),
        results: saved.results.map(resultIn(context)),
        pendingSites: dryRun ? [] : pending(saved.results, context),
      });
    },
    moveRule: async ({ path: asked, newPath, dryRun, reason, expectedEtag }, context) => {
      const path = rules.pathOf(asked);
      const before = rules.saved(new Set([path]));
      const options = { dryRun, expectedEtag };
      const saved = await rules.move(path, newPath, callerOf(context, reason), options);
      return create(MoveRuleResponseSchema, {
        revision: BigInt(saved.revision),
        results: saved.results.map(resultIn(context)),
        pendingSites: dryRun ? [] : pending(saved.results, context, before),
      });
    },
    deleteRules: async ({ paths: asked, reason, dryRun }, context) => {
      const paths = asked.map(rules.pathOf);
      const before = rules.saved(new Set(paths));
      const saved = await rules.delete(paths, callerOf(context, reason), { dryRun });
      return create(DeleteRulesResponseSchema, {
        revision: BigInt(saved.revision),
        results: saved.results.map(resultIn(context)),
        pendingSites: dryRun ? [] : pending(saved.results, context, before),
      });
    },
    compareRules: async ({ site }, context) => {
      const results = await whileAllowed(context, () => rules.compare(site, context.signal));
      return create(CompareRulesResponseSchema, { results: results.map(resultIn(context)) });
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
        revision: BigInt(saved.revision),
        results: saved.results.map(resultIn(context)),
        pendingSites: dryRun ? [] : pending(saved.results, context),
      });
    },
    watchRules: createWatch(source, translations),
  };
}

/** Checks the scope of a request for passwords, and counts the read passwords for the audit. */
function createRevealing(audit: Pick<Recorder, "note">, siteNames: () => SiteNames) {
  return (context: HandlerContext, reveal: boolean, found: readonly Rule[]): boolean => {
    if (!reveal) return false;
    if (!grantOf(context).has("rules:reveal"))
      throw denied(message("SCOPE_MISSING", { scope: "rules:reveal" }));
    const subjects = found.flatMap((rule) => passwordSubjects(rule, siteNames()));
    if (subjects.length > 0)
      audit.note({ origin: auditOriginOf(context), outcome: "OK", subjects });
    return true;
  };
}

/** Names of a rule's passwords in the audit. */
function passwordSubjects(rule: Rule, names: SiteNames): readonly string[] {
  return [
    ...(rule.values.password === "" ? [] : [passwordSubject(rule.path)]),
    ...overridesByName(rule, names).flatMap(([site, { values }]) =>
      (values.password ?? "") === "" ? [] : [passwordSubject(rule.path, site)],
    ),
  ];
}

/** Implements WatchRules: streams of the same rights and language share their messages. */
function createWatch(
  { rules, siteNames }: RuleSource,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof RuleServiceDesc>["watchRules"] {
  const languageOf = createLanguageOf();
  const viewIn = memoize((language: Language) => {
    const translate = translations(language);
    const show = memoize(({ rule, statuses }: WatchedRule) =>
      ruleToProto(rule, statuses, {
        reveals: false,
        say: (text) => textIn(text, translate),
        names: siteNames(),
        etagOf: rules.etagOf,
      }),
    );
    return memoize((grant: Grant) =>
      createView<WatchedRules, WatchedRule, WatchRulesResponse>(
        ({ changed, removed }, state) =>
          create(WatchRulesResponseSchema, {
            rules: changed.map(show),
            removed: removed.map(({ rule }) => rule.path),
            revision: BigInt(state.source.snapshot.revision),
          }),
        ({ rule }) => isAllowed(grant, rule),
      ),
    );
  });
  return (_request, context) => {
    const grant = grantOf(context);
    // Streams of all grants without limits show the same.
    const view = viewIn(languageOf(context, ""))(grant.limits.length === 0 ? ROOT : grant);
    return rules.watch(view, context.signal);
  };
}
