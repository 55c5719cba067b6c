import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type PublicService as PublicServiceDesc,
  type WatchPublicSettingsResponse,
  WatchPublicSettingsResponseSchema,
} from "../../../gen/mooring/v1/public_service_pb.js";
import {
  type SettingService as SettingServiceDesc,
  type WatchSettingsResponse,
  WatchSettingsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { PublicService } from "../../service/public.ts";
import { describeChange, publicChange } from "../../service/setting/change.ts";
import type { SettingDefinition } from "../../service/setting/definition.ts";
import type { Feed } from "../../service/setting/feed.ts";
import type { SettingService } from "../../service/setting/setting.ts";
import type { RevisionCommit } from "../../store/setting-store.ts";
import type { Handlers } from "../method.ts";
import { changeToProto } from "./message.ts";
import { optionalNumber } from "./number.ts";
import { onePerSnapshot } from "./reply.ts";
import { createSettingView } from "./setting-view.ts";

/** What the streams read from. */
export interface WatchSource {
  readonly feed: Feed;
  readonly settings: SettingService;
  readonly publicReads: PublicService;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
}

/** The watch methods. Events are made once and shared by all streams, encoded bytes included. */
export function watchHandlers(source: () => WatchSource): {
  readonly watchSettings: Handlers<typeof SettingServiceDesc>["watchSettings"];
  readonly watchPublicSettings: Handlers<typeof PublicServiceDesc>["watchPublicSettings"];
} {
  const settingsEvent = oncePerCommit((commit) => settingsChanged(commit, undefined));
  const publicEvent = oncePerCommit((commit) => publicChanged(commit, source().definitionOf));
  const show = createSettingView((key) => source().settings.managedBy(key), true);
  const snapshot = onePerSnapshot((snapshot) =>
    create(WatchSettingsResponseSchema, {
      revision: BigInt(snapshot.revision),
      snapshot: {
        settings: source()
          .settings.list([])
          .map((item) => show(snapshot, item)),
      },
    }),
  );
  const publicSnapshot = onePerSnapshot((snapshot) =>
    create(WatchPublicSettingsResponseSchema, {
      revision: BigInt(snapshot.revision),
      snapshot: { settings: source().publicReads.settings(snapshot) },
    }),
  );
  return {
    watchSettings: ({ afterRevision, keys }, call) => {
      const wanted = keys.length === 0 ? undefined : new Set(keys);
      const after = optionalNumber(afterRevision);
      const all = after === undefined ? snapshot(source().settings.snapshot()) : undefined;
      const first = all && wanted ? onlyKeys(all, wanted) : all;
      return events(source(), call.signal, {
        after: after ?? Number(first?.revision),
        first,
        bookmark: settingsBookmark,
        eventOf: (commit) =>
          wanted === undefined ? settingsEvent(commit) : settingsChanged(commit, wanted),
      });
    },
    watchPublicSettings: ({ afterRevision }, call) => {
      const after = optionalNumber(afterRevision);
      const first =
        after === undefined ? publicSnapshot(source().publicReads.snapshot()) : undefined;
      return events(source(), call.signal, {
        after: after ?? Number(first?.revision),
        first,
        bookmark: publicBookmark,
        eventOf: publicEvent,
      });
    },
  };
}

/** What a stream sends. */
interface Messages<E> {
  /** The revision that the reader knows, or that `first` shows. */
  readonly after: number;
  readonly first: E | undefined;
  readonly bookmark: (revision: number) => E;
  /** @returns undefined for a commit that does not concern the reader. */
  readonly eventOf: (commit: RevisionCommit) => E | undefined;
}

/**
 * One event for each commit that concerns the reader; a bookmark for those at the end of a batch
 * that do not, and when nothing happens.
 */
async function* events<E>(
  { feed, publicReads }: WatchSource,
  signal: AbortSignal,
  { after: start, first, bookmark, eventOf }: Messages<E>,
): AsyncIterable<E> {
  if (first !== undefined) yield first;
  // Another process may have told the reader of a revision that this one has not looked for yet.
  if (start > feed.head) await publicReads.fresh();
  let sent = start;
  let seen = start;
  for await (const commits of feed.read(start, signal)) {
    for (const commit of commits) {
      seen = commit.revision;
      const event = eventOf(commit);
      if (event === undefined) continue;
      sent = seen;
      yield event;
    }
    if (sent < seen || commits.length === 0) {
      sent = seen;
      yield bookmark(seen);
    }
  }
}

function oncePerCommit<E>(make: (commit: RevisionCommit) => E): (commit: RevisionCommit) => E {
  const made = new WeakMap<RevisionCommit, { readonly event: E }>();
  return (commit) => {
    const found = made.get(commit) ?? { event: make(commit) };
    made.set(commit, found);
    return found.event;
  };
}

function settingsChanged(
  commit: RevisionCommit,
  wanted: ReadonlySet<string> | undefined,
): WatchSettingsResponse | undefined {
  const changes = commit.changes.filter(({ key }) => wanted?.has(key) ?? true);
  if (changes.length === 0) return undefined;
  return create(WatchSettingsResponseSchema, {
    revision: BigInt(commit.revision),
    change: {
      time: timestampFromMs(commit.time),
      actor: commit.actor,
      changes: changes.map(describeChange).map(changeToProto),
    },
  });
}

function publicChanged(
  commit: RevisionCommit,
  definitionOf: WatchSource["definitionOf"],
): WatchPublicSettingsResponse | undefined {
  const change = publicChange(commit, definitionOf);
  if (change === undefined) return undefined;
  return create(WatchPublicSettingsResponseSchema, {
    revision: BigInt(commit.revision),
    change: { set: { ...change.set }, removed: [...change.removed] },
  });
}

const settingsBookmark = (revision: number): WatchSettingsResponse =>
  create(WatchSettingsResponseSchema, { revision: BigInt(revision) });

const publicBookmark = (revision: number): WatchPublicSettingsResponse =>
  create(WatchPublicSettingsResponseSchema, { revision: BigInt(revision) });

function onlyKeys(
  { revision, snapshot }: WatchSettingsResponse,
  wanted: ReadonlySet<string>,
): WatchSettingsResponse {
  const settings = (snapshot?.settings ?? []).filter(({ key }) => wanted.has(key));
  return create(WatchSettingsResponseSchema, { revision, snapshot: { settings } });
}
