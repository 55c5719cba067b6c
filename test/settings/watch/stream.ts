import { create } from "@bufbuild/protobuf";
import { createHandlerContext } from "@connectrpc/connect";
import {
  WatchPublicSettingsRequestSchema,
  type WatchPublicSettingsResponse,
} from "../../../gen/mooring/v1/public_service_pb.js";
import {
  SettingService,
  WatchSettingsRequestSchema,
  type WatchSettingsResponse,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { LedgerStore } from "../../../src/ledger/store.ts";
import { watchImpl } from "../../../src/settings/watch-rpc.ts";
import { definitions, type Parts } from "../parts.ts";
import type { Recorded, Truth, Values } from "./guarantee.ts";

/** Request of a client. */
export interface WatchOptions {
  readonly after?: number;
  readonly keys?: readonly string[];
}

const definitionOf = new Map(definitions.map((definition) => [definition.key, definition]));

/** The streams of one process, as its handlers provide them to every transport. */
export function streamsOf(parts: Parts) {
  const source = { ...parts, definitionOf: (key: string) => definitionOf.get(key) };
  const { watchSettings, watchPublicSettings } = watchImpl(source);
  return {
    async *settings(
      { after, keys = [] }: WatchOptions,
      signal: AbortSignal,
    ): AsyncIterable<WatchSettingsResponse> {
      const from = await afterEtag(parts, after);
      yield* watchSettings(
        create(WatchSettingsRequestSchema, { keys: [...keys], ...from }),
        createHandlerContext({
          service: SettingService,
          method: SettingService.method.watchSettings,
          protocolName: "grpc",
          requestMethod: "POST",
          url: "http://localhost/",
          requestSignal: signal,
        }),
      );
    },
    async *publicSettings(
      { after }: WatchOptions,
      signal: AbortSignal,
    ): AsyncIterable<WatchPublicSettingsResponse> {
      const from = await afterEtag(parts, after);
      yield* watchPublicSettings(create(WatchPublicSettingsRequestSchema, from), { signal });
    },
  };
}

async function afterEtag({ settings }: Parts, after: number | undefined) {
  return after === undefined ? {} : { afterEtag: await settings.line.at(after) };
}

/** An event of WatchSettings as a client records it. */
export function recorded({ revision, event }: WatchSettingsResponse): Recorded {
  const at = Number(revision);
  if (event.case === "snapshot") {
    const values = event.value.settings.map(({ key, value }) => [key, value]);
    return { kind: "snapshot", revision: at, values: Object.fromEntries(values) };
  }
  if (event.case === undefined) return { kind: "bookmark", revision: at, values: {} };
  const values = event.value.changes.map(({ key, newValue }) => [key, newValue ?? null]);
  return { kind: "change", revision: at, values: Object.fromEntries(values) };
}

/** An event of WatchPublicSettings as a client records it. */
export function publicRecorded(message: WatchPublicSettingsResponse): Recorded {
  const { event } = message;
  const revision = Number(message.revision);
  if (event.case === "snapshot")
    return { kind: "snapshot", revision, values: event.value.settings };
  if (event.case === undefined) return { kind: "bookmark", revision, values: {} };
  const change = event.value;
  const gone = change.removed.map((key) => [key, null]);
  return { kind: "change", revision, values: { ...change.set, ...Object.fromEntries(gone) } };
}

/** The history of a database; it has no secrets in these tests. */
export async function truthOf(store: LedgerStore): Promise<Truth[]> {
  const commits = await store.commits(0, Number.MAX_SAFE_INTEGER, 100_000);
  return commits.map(({ revision, changes }) => {
    const values: Values = Object.fromEntries(
      changes.map(({ key, newBody: newValue }) => [key, newValue]),
    );
    return { revision, values };
  });
}

/** Reads a stream until an event reaches a revision. */
export async function readUntil<E>(
  stream: AsyncIterator<E>,
  record: (event: E) => Recorded,
  revision: number,
): Promise<Recorded[]> {
  const history: Recorded[] = [];
  while ((history.at(-1)?.revision ?? -1) < revision) {
    const { value, done } = await stream.next();
    if (done) throw new Error(`the stream ended before revision ${revision}`);
    history.push(record(value));
  }
  return history;
}
