import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type WatchPublicSettingsRequest,
  type WatchPublicSettingsResponse,
  WatchPublicSettingsResponseSchema,
} from "../../gen/mooring/v1/public_service_pb.js";
import {
  type WatchSettingsRequest,
  type WatchSettingsResponse,
  WatchSettingsResponseSchema,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { tokenIdOf } from "../audit/entry.ts";
import { etagOf } from "../ledger/etag.ts";
import type { Feed } from "../ledger/feed.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { RevisionCommit, StoredChange } from "../ledger/store.ts";
import { memoize } from "../memoize.ts";
import { invalid } from "../messages/error.ts";
import { createTranslations, type Language, type Translate } from "../messages/language.ts";
import { createLanguageOf } from "../messages/localize.ts";
import { message } from "../messages/message.ts";
import { describeChange, publicChange } from "./change.ts";
import type { SettingDefinition } from "./definition.ts";
import { SETTINGS } from "./kind.ts";
import { changeToProto, createSettingView } from "./message.ts";
import type { PublicSettings } from "./public-settings.ts";
import { createReplyCache, memoizePerSnapshot, ReplyBudget } from "./reply.ts";
import { rightsOfCaller } from "./rights.ts";
import type { SettingService } from "./setting-service.ts";

/** State that the streams read from. */
export interface WatchSource {
  readonly feed: Feed;
  readonly settings: SettingService;
  readonly publicReads: PublicSettings;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
}

/** Streams events until its reader disconnects. */
type Watch<I, O, C = Pick<HandlerContext, "signal">> = (request: I, context: C) => AsyncIterable<O>;

/** Implements the watch methods. All streams share each event and its encoded bytes. */
export function watchImpl(
  source: WatchSource,
  translations: (language: Language) => Translate = createTranslations(),
): {
  readonly watchSettings: Watch<WatchSettingsRequest, WatchSettingsResponse, HandlerContext>;
  readonly watchPublicSettings: Watch<WatchPublicSettingsRequest, WatchPublicSettingsResponse>;
} {
  const settingsEvent = memoize((commit: RevisionCommit) => settingsChanged(commit, undefined));
  const publicEvent = memoize((commit: RevisionCommit) =>
    publicChanged(commit, source.definitionOf),
  );
  const languageOf = createLanguageOf();
  const snapshotIn = memoize((language: Language) =>
    settingsSnapshot(source, translations(language)),
  );
  const publicSnapshot = memoizePerSnapshot((snapshot) =>
    create(WatchPublicSettingsResponseSchema, {
      revision: BigInt(snapshot.revision),
      etag: etagOf(snapshot),
      event: {
        case: "snapshot",
        value: { settings: source.publicReads.settings(snapshot) },
      },
    }),
  );
  // Streams of one view (the same limits and keys) share their messages, encoded bytes included.
  const budget = new ReplyBudget({ bytes: 8 * 2 ** 20, entries: 1_024 });
  const firstOf = createReplyCache<WatchSettingsResponse, WatchSettingsResponse>(budget, sizeOf);
  const changeOf = createReplyCache<RevisionCommit, ViewEvent>(budget, ({ event }) =>
    sizeOf(event),
  );
  const now = (): Snapshot => source.settings.snapshot();
  return {
    watchSettings: ({ afterEtag, keys, languageCode }, context) => {
      const { signal } = context;
      const snapshot = snapshotIn(languageOf(context, languageCode));
      checkKeys(keys);
      const { require, isLimited, limitsKey, canRead, canReadChange } = rightsOfCaller(
        context,
        now,
      );
      require(keys);
      const asked = new Set(keys);
      const isAsked = (key: string): boolean => asked.size === 0 || asked.has(key);
      const wanted: Wanted | undefined =
        asked.size === 0 && !isLimited
          ? undefined
          : {
              view: viewOf(limitsKey, asked),
              setting: ({ key }) => isAsked(key) && canRead(key),
              change: (change) => isAsked(change.key) && canReadChange(change),
            };
      return startingAt(source, afterEtag, (after) => {
        const all = after === undefined ? snapshot(source.settings.snapshot()) : undefined;
        const first = all && wanted ? firstOf(all, wanted.view, () => onlyKeys(all, wanted)) : all;
        return events(source, signal, {
          after: after ?? Number(first?.revision),
          first,
          bookmark: settingsBookmark,
          eventOf: (commit) =>
            wanted === undefined
              ? settingsEvent(commit)
              : changeOf(commit, wanted.view, () => ({ event: settingsChanged(commit, wanted) }))
                  .event,
        });
      });
    },
    watchPublicSettings: ({ afterEtag }, { signal }) =>
      startingAt(source, afterEtag, (after) => {
        const first =
          after === undefined ? publicSnapshot(source.publicReads.snapshot()) : undefined;
        return events(source, signal, {
          after: after ?? Number(first?.revision),
          first,
          bookmark: publicBookmark,
          eventOf: publicEvent,
        });
      }),
  };
}

/** Filter and view of a stream. */
interface Wanted {
  /** Key that is equal for streams with the same content. */
  readonly view: string;
  readonly setting: (setting: { readonly key: string }) => boolean;
  readonly change: (change: StoredChange) => boolean;
}

/** Event of a commit for the streams of a view; undefined: it does not concern them. */
interface ViewEvent {
  readonly event: WatchSettingsResponse | undefined;
}

/** Maximum number of keys of a stream. */
const MAX_KEYS = 1_000;

/** @throws INVALID_ARGUMENT for too many keys. */
function checkKeys(keys: readonly string[]): void {
  if (keys.length > MAX_KEYS)
    throw invalid([
      {
        field: "keys",
        description: message("TOO_MANY_KEYS", { most: MAX_KEYS, count: keys.length }),
      },
    ]);
}

/** Short key for limits and keys, which is retained as long as the stream is open. */
function viewOf(limitsKey: string, keys: ReadonlySet<string>): string {
  const text = JSON.stringify([limitsKey, [...keys].sort()]);
  return createHash("sha256").update(text).digest("base64");
}

/** Approximate size of an event, in bytes. */
function sizeOf(message: WatchSettingsResponse | undefined): number {
  const { event } = message ?? {};
  if (event?.case === "snapshot")
    return event.value.settings.reduce(
      (sum, { value, help }) => sum + 512 + value.length + help.length,
      0,
    );
  if (event?.case !== "change") return 0;
  return event.value.changes.reduce(
    (sum, { oldValue = "", newValue = "" }) => sum + 512 + oldValue.length + newValue.length,
    0,
  );
}

/** All settings as the first event of a stream, created once per snapshot. */
function settingsSnapshot(source: WatchSource, translate: Translate) {
  const show = createSettingView(source.settings, ({ secret }) => secret, translate);
  return memoizePerSnapshot((snapshot) => {
    const settings = source.settings.list([]);
    return create(WatchSettingsResponseSchema, {
      revision: BigInt(snapshot.revision),
      etag: etagOf(snapshot),
      event: {
        case: "snapshot",
        value: { settings: settings.map((item) => show(snapshot, item)) },
      },
    });
  });
}

/**
 * Stream after the state that a request names.
 *
 * @param open opens a stream after a revision; undefined: with a snapshot.
 */
function startingAt<E>(
  { settings }: Pick<WatchSource, "settings">,
  afterEtag: string | undefined,
  open: (after: number | undefined) => AsyncIterable<E>,
): AsyncIterable<E> {
  if (afterEtag === undefined) return open(undefined);
  return flatten(settings.line.find(afterEtag).then(open));
}

async function* flatten<E>(stream: Promise<AsyncIterable<E>>): AsyncIterable<E> {
  yield* await stream;
}

/** Messages of a stream. */
interface Messages<E> {
  /** Revision that the reader has, or that `first` shows. */
  readonly after: number;
  readonly first: E | undefined;
  readonly bookmark: (revision: number, etag: string) => E;
  /** @returns undefined for a commit that does not concern the reader. */
  readonly eventOf: (commit: RevisionCommit) => E | undefined;
}

/**
 * Events of a stream: one for each relevant commit, and bookmarks after batches without such a
 * commit and during idle times.
 */
async function* events<E>(
  { feed, publicReads, settings }: WatchSource,
  signal: AbortSignal,
  { after: start, first, bookmark, eventOf }: Messages<E>,
): AsyncIterable<E> {
  if (first !== undefined) yield first;
  // Another process may have given the reader a revision that this process has not read yet.
  if (start > feed.head) await publicReads.fresh();
  let sent = start;
  let seen = start;
  /** Etag of `seen`, once a commit has shown it. */
  let etag: string | undefined;
  for await (const commits of feed.read(start, signal)) {
    for (const commit of commits) {
      seen = commit.revision;
      etag = etagOf(commit);
      const event = eventOf(commit);
      if (event === undefined) continue;
      sent = seen;
      yield event;
    }
    if (sent < seen || commits.length === 0) {
      sent = seen;
      etag ??= await settings.line.at(seen);
      yield bookmark(seen, etag);
    }
  }
}

function settingsChanged(
  commit: RevisionCommit,
  wanted: Wanted | undefined,
): WatchSettingsResponse | undefined {
  const changes = commit.changes.filter(
    (change) => change.kind === SETTINGS.name && (wanted?.change(change) ?? true),
  );
  if (changes.length === 0) return undefined;
  return create(WatchSettingsResponseSchema, {
    revision: BigInt(commit.revision),
    etag: etagOf(commit),
    event: {
      case: "change",
      value: {
        time: timestampFromMs(commit.time),
        actor: commit.actor,
        tokenId: tokenIdOf(commit.actor),
        changes: changes.map(describeChange).map(changeToProto),
      },
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
    etag: etagOf(commit),
    event: {
      case: "change",
      value: { set: { ...change.set }, removed: [...change.removed] },
    },
  });
}

const settingsBookmark = (revision: number, etag: string): WatchSettingsResponse =>
  create(WatchSettingsResponseSchema, { revision: BigInt(revision), etag });

const publicBookmark = (revision: number, etag: string): WatchPublicSettingsResponse =>
  create(WatchPublicSettingsResponseSchema, { revision: BigInt(revision), etag });

function onlyKeys(
  { revision, etag, event }: WatchSettingsResponse,
  wanted: Wanted,
): WatchSettingsResponse {
  const all = event.case === "snapshot" ? event.value.settings : [];
  const settings = all.filter(wanted.setting);
  return create(WatchSettingsResponseSchema, {
    revision,
    etag,
    event: { case: "snapshot", value: { settings } },
  });
}
