import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Revision } from "../../gen/mooring/v1/setting_pb.js";
import {
  DiffRevisionsResponseSchema,
  GetRevisionResponseSchema,
  ListRevisionsResponseSchema,
  RollbackResponseSchema,
  type SettingService as SettingServiceDesc,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { type Grant, grantOf, outsideLimits, shareOf } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import { expectedRevision, type Line, readEtag } from "../ledger/etag.ts";
import type { History } from "../ledger/history.ts";
import type { RevisionSummary } from "../ledger/store.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import type { Text } from "../messages/message.ts";
import { invalidPageToken } from "../messages/page.ts";
import type { Kinds } from "./kinds.ts";
import { changeToProto, resultToProto, revisionToProto } from "./message.ts";
import { createPendingReply, type PendingSites } from "./pending-site.ts";
import type { Restore } from "./restore.ts";

/** History methods of SettingService, for all kinds of records. */
type HistoryImpl = Pick<
  ServiceImpl<typeof SettingServiceDesc>,
  "listRevisions" | "getRevision" | "diffRevisions" | "rollback"
>;

export interface HistoryServices {
  readonly history: History;
  readonly kinds: Kinds;
  readonly restore: Restore;
  readonly line: Line;
  readonly pendingSites: PendingSites;
  /** @throws NOT_FOUND. */
  readonly siteIdOf: (name: string) => string;
}

export function historyImpl(
  { history, kinds, restore, line, pendingSites, siteIdOf }: HistoryServices,
  translations: (language: Language) => Translate = createTranslations(),
): HistoryImpl {
  const sayIn = createSayIn(translations);
  const pending = createPendingReply(pendingSites, sayIn);
  return {
    listRevisions: async ({ pageSize, pageToken, key, actor, since, until, site }, context) => {
      const grant = grantOf(context);
      if (key !== "" && !kinds.mayName(grant, key)) throw outsideLimits(grant);
      const siteId = site === "" ? undefined : siteIdOf(site);
      const page = await history.list({
        pageSize,
        before: await readPageToken(pageToken, line),
        record: key === "" ? undefined : kinds.recordNamed(key),
        actor: actor || undefined,
        since: optionalMs(since),
        until: optionalMs(until),
      });
      const found =
        siteId === undefined
          ? page.revisions
          : page.revisions.filter(({ changes }) =>
              changes.some((each) => kinds.canRead(grant, each) && kinds.isOnSite(each, siteId)),
            );
      const say = sayIn(context);
      const seen = found.map((summary) => visibleRevision(summary, { kinds, grant, say }));
      return create(ListRevisionsResponseSchema, {
        revisions: kinds.seesAll(grant) ? seen : seen.filter(({ keys }) => keys.length > 0),
        nextPageToken: page.next === undefined ? "" : await line.at(page.next),
        oldestRevision: BigInt(page.oldest),
      });
    },
    getRevision: async ({ revision }, context) => {
      const grant = grantOf(context);
      const commit = await history.get(Number(revision));
      const changes = commit.changes.filter((change) => kinds.canRead(grant, change));
      if (changes.length === 0) kinds.refuse(grant, commit.changes);
      return create(GetRevisionResponseSchema, {
        revision: visibleRevision(commit, { kinds, grant, say: sayIn(context) }),
        changes: kinds.describe(changes).map(changeToProto),
      });
    },
    diffRevisions: async ({ from, to }, context) => {
      const grant = grantOf(context);
      const changes = await history.diff(Number(from), Number(to), (change) =>
        kinds.hides(grant, change),
      );
      // Over several revisions, equal secrets may have changed in between.
      const isOne = to !== 0n && (to - from === 1n || from - to === 1n);
      const visible = changes
        .filter((change) => kinds.canRead(grant, change))
        .map((change) => ({ ...change, isHidden: !isOne && kinds.hides(grant, change) }));
      return create(DiffRevisionsResponseSchema, {
        changes: kinds.describe(visible).map(changeToProto),
      });
    },
    rollback: async (request, context) => {
      const { to, only, dryRun, reason } = request;
      const grant = grantOf(context);
      const say = sayIn(context);
      const { revision, commit, result } = await restore(
        { to: Number(to), only },
        { grant, origin: { ...originOf(context, reason), share: shareOf(grant) } },
        { expectedRevision: await expectedRevision(line, request), dryRun },
      );
      return create(RollbackResponseSchema, {
        revision: BigInt(revision),
        etag: dryRun ? await line.at(revision) : "",
        pendingSites: dryRun || commit === undefined ? [] : pending(context),
        changes: kinds.describe(commit?.changes ?? []).map(changeToProto),
        results: result.map((each) => resultToProto(each, say)),
      });
    },
  };
}

/**
 * Revision as visible to a caller: the reason is hidden if it concerns changes outside of the
 * rights.
 */
function visibleRevision(
  summary: RevisionSummary,
  {
    kinds,
    grant,
    say,
  }: { readonly kinds: Kinds; readonly grant: Grant; readonly say: (text: Text) => string },
): Revision {
  const changes = summary.changes.filter((change) => kinds.canRead(grant, change));
  const keys = kinds.records(changes).map(({ key }) => key);
  const isWhole = changes.length === summary.changes.length;
  return revisionToProto(isWhole ? summary : { ...summary, reason: "" }, keys, say);
}

function optionalMs(time: Timestamp | undefined): number | undefined {
  return time && timestampMs(time);
}

/**
 * Revision before which a page begins.
 *
 * @throws INVALID_ARGUMENT for a token of another database, such as the one before a restore.
 */
async function readPageToken(token: string, line: Line): Promise<number | undefined> {
  if (token === "") return undefined;
  const { revision = 0 } = readEtag(token) ?? {};
  if (revision === 0) throw invalidPageToken();
  // A revision that is no longer kept has no page after it.
  if ((await line.find(token)) !== undefined || (await line.isForgotten(revision))) return revision;
  throw invalidPageToken();
}
