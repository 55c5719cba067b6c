import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  DiffRevisionsResponseSchema,
  GetRevisionResponseSchema,
  ListRevisionsResponseSchema,
  type SettingService as SettingServiceDesc,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { describeChange } from "../ledger/commit.ts";
import { type Line, readEtag } from "../ledger/etag.ts";
import type { History } from "../ledger/history.ts";
import type { RevisionSummary, StoredChange } from "../ledger/store.ts";
import { invalidPageToken } from "../messages/page.ts";
import { changeToProto, revisionToProto } from "./message.ts";
import { type Rights, rightsOfCaller } from "./rights.ts";
import type { SettingService } from "./setting.ts";

/** History methods of SettingService. */
type HistoryImpl = Pick<
  ServiceImpl<typeof SettingServiceDesc>,
  "listRevisions" | "getRevision" | "diffRevisions"
>;

/** Keys and changes of the history as clients see them. */
export interface HistoryView {
  showKey(key: string): string;
  showChange(change: StoredChange): StoredChange;
  /** Inverse of `showKey`. */
  storedKey(key: string): string;
}

const AS_STORED: HistoryView = {
  showKey: (key) => key,
  showChange: (change) => change,
  storedKey: (key) => key,
};

/** @param view Default: keys and changes as they are stored. */
export function historyImpl(
  history: History,
  { snapshot, line }: Pick<SettingService, "snapshot" | "line">,
  { showKey, showChange, storedKey }: HistoryView = AS_STORED,
): HistoryImpl {
  const show = (summary: RevisionSummary): RevisionSummary => ({
    ...summary,
    changes: summary.changes.map((change) => ({ ...change, key: showKey(change.key) })),
  });
  const rights = (context: HandlerContext): Rights => rightsOfCaller(context, snapshot);

  return {
    listRevisions: async ({ pageSize, pageToken, key: shown, actor, since, until }, context) => {
      const key = storedKey(shown);
      const { require, isLimited, canReadMounts, canReadChange } = rights(context);
      const isPart = isLimited || !canReadMounts;
      if (key !== "") require([key]);
      const page = await history.list({
        pageSize,
        before: await readPageToken(pageToken, line),
        key: key || undefined,
        actor: actor || undefined,
        since: optionalMs(since),
        until: optionalMs(until),
      });
      return create(ListRevisionsResponseSchema, {
        revisions: page.revisions
          .map((revision) => (isPart ? seen(revision, canReadChange) : revision))
          .filter(({ changes }) => !isPart || changes.length > 0)
          .map(show)
          .map(revisionToProto),
        nextPageToken: page.next === undefined ? "" : await line.at(page.next),
        oldestRevision: BigInt(page.oldest),
      });
    },
    getRevision: async ({ revision }, context) => {
      const commit = await history.get(Number(revision));
      const {
        isLimited,
        canReadMounts,
        refuse,
        requireScope: needScope,
        canReadChange,
      } = rights(context);
      const changes = commit.changes.filter(canReadChange);
      // The caller may see none of its changes.
      if (isLimited && changes.length === 0) refuse();
      if (!canReadMounts && changes.length === 0) needScope("mounts:read");
      return create(GetRevisionResponseSchema, {
        revision: revisionToProto(show(seen(commit, canReadChange))),
        changes: changes.map(showChange).map(describeChange).map(changeToProto),
      });
    },
    diffRevisions: async ({ from, to }, context) => {
      const { canReadChange, isMaskedChange } = rights(context);
      const changes = await history.diff(Number(from), Number(to), isMaskedChange);
      return create(DiffRevisionsResponseSchema, {
        changes: changes
          .filter(canReadChange)
          .map(showChange)
          .map(describeChange)
          .map(changeToProto),
      });
    },
  };
}

/**
 * Revision as visible to a caller: the reason is hidden if it concerns changes outside of the
 * rights.
 */
function seen(summary: RevisionSummary, canRead: Rights["canReadChange"]): RevisionSummary {
  const changes = summary.changes.filter(canRead);
  return changes.length === summary.changes.length ? summary : { ...summary, changes, reason: "" };
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
