import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  DiffRevisionsResponseSchema,
  GetRevisionResponseSchema,
  ListRevisionsResponseSchema,
  type SettingService as SettingServiceDesc,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { invalid } from "../../service/error.ts";
import { describeChange } from "../../service/setting/change.ts";
import type { History } from "../../service/setting/history.ts";
import type { Handlers } from "../method.ts";
import { changeToProto, revisionToProto } from "./message.ts";

export type HistoryHandlers = Pick<
  Handlers<typeof SettingServiceDesc>,
  "listRevisions" | "getRevision" | "diffRevisions"
>;

export function historyHandlers(history: () => History): HistoryHandlers {
  return {
    listRevisions: async ({ pageSize, pageToken, key, actor, since, until }) => {
      const page = await history().list({
        pageSize,
        before: readPageToken(pageToken),
        key: key || undefined,
        actor: actor || undefined,
        since: optionalMs(since),
        until: optionalMs(until),
      });
      return create(ListRevisionsResponseSchema, {
        revisions: page.revisions.map(revisionToProto),
        nextPageToken: page.next === undefined ? "" : String(page.next),
        oldestRevision: BigInt(page.oldest),
      });
    },
    getRevision: async ({ revision }) => {
      const commit = await history().get(Number(revision));
      const keys = commit.changes.map(({ key }) => key);
      return create(GetRevisionResponseSchema, {
        revision: revisionToProto({ ...commit, keys }),
        changes: commit.changes.map(describeChange).map(changeToProto),
      });
    },
    diffRevisions: async ({ from, to }) => {
      const changes = await history().diff(Number(from), Number(to));
      return create(DiffRevisionsResponseSchema, {
        changes: changes.map(describeChange).map(changeToProto),
      });
    },
  };
}

function optionalMs(time: Timestamp | undefined): number | undefined {
  return time && timestampMs(time);
}

function readPageToken(token: string): number | undefined {
  if (token === "") return undefined;
  if (/^[1-9]\d{0,15}$/.test(token)) return Number(token);
  throw invalid([
    { field: "page_token", description: "page_token is none that a page before has given" },
  ]);
}
