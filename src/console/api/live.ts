import { Code, ConnectError } from "@connectrpc/connect";
import { computed, effect, signal, untracked } from "@preact/signals";
import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import type {
  SettingsChange,
  WatchSettingsResponse,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { StreamOptions } from "../../client/follow.ts";
import { language } from "../i18n/language.ts";
import { refused, settingService } from "./client.ts";
import { isBlind } from "./early.ts";
import type { Failure } from "./failure.ts";
import { followCalls, until, whileVisible } from "./follow.ts";
import { rememberRevision } from "./revision.ts";
import { may, rights } from "./rights.ts";
import { session } from "./session.ts";

/** All settings at one revision. Immutable: each revision creates another object. */
export interface Settings {
  readonly revision: bigint;
  /** Identifies the state, also after the database was restored. */
  readonly etag: string;
  readonly byKey: ReadonlyMap<string, Setting>;
}

/** New change by another client. */
export interface Arrival {
  readonly revision: bigint;
  readonly actor: string;
  readonly keys: readonly string[];
}

/** `waiting`: no data yet; `lost`: a retry follows; `refused`: the token has no right to read. */
export type Connection = "waiting" | "live" | "lost" | "refused";

export const connection = signal<Connection>("waiting");
/** Reason for which the connection is lost or refused. */
export const trouble = signal<Failure | undefined>(undefined);
/** Undefined until the first snapshot. */
export const settings = signal<Settings | undefined>(undefined);
export const arrival = signal<Arrival | undefined>(undefined);

/**
 * Time without data after which the connection counts as lost, in milliseconds: two missed
 * bookmarks, which are sent every 15 s.
 */
const SILENCE = 40_000;
/** Longest pause between two attempts, in milliseconds. */
const LONGEST_PAUSE = 8_000;
/** Maximum number of changed keys that are read one by one; above it, all settings are read. */
const FEW = 500;

/** Changes by this page, so that they are not reported as another client's. */
const own = new Set<bigint>();
/** Number of saves in progress: until they end, the origin of a change is unknown. */
const saving = signal(0);

/** Whether a save of this page is in progress. */
export const isSaving = computed(() => saving.value > 0);

/** Runs a change of this page, whose result contains the new revision. */
export async function asOwn<R extends { readonly revision: bigint }>(
  change: Promise<R>,
): Promise<R> {
  saving.value += 1;
  try {
    const result = await change;
    own.add(result.revision);
    return result;
  } finally {
    saving.value -= 1;
  }
}

/** Resolves when the settings on this page show a revision. */
export function reached(revision: bigint): Promise<void> {
  return until(() => (settings.value?.revision ?? 0n) >= revision);
}

/** Follows the settings while a user is signed in. Called once. */
export function followSettings(): void {
  effect(() => {
    const token = session.value?.token;
    trouble.value = undefined;
    connection.value = "waiting";
    if (token === undefined) {
      settings.value = undefined;
      return;
    }
    // If the rights are unknown, the service decides.
    const known = isBlind ? rights.value : rights.peek();
    if (isBlind && known === undefined) return;
    if (known !== undefined && !untracked(() => may("settings:read"))) {
      connection.value = "refused";
      return;
    }
    const leaving = new AbortController();
    void whileVisible((seen) => watch(token, seen), leaving.signal);
    return () => leaving.abort();
  });
  language.subscribe(() => void translate());
}

/** Reads the settings with their texts in another language. */
async function translate(): Promise<void> {
  if (settings.peek() === undefined) return;
  const read = await all(AbortSignal.timeout(SILENCE)).catch(() => undefined);
  const known = settings.peek();
  if (read !== undefined && known !== undefined) settings.value = { ...known, byKey: read.byKey };
}

async function watch(token: string, signal: AbortSignal): Promise<void> {
  const events = followCalls({
    open: readChanges,
    // The revision was deleted or belongs to another database: start again.
    restart: () => {
      settings.value = undefined;
      return undefined;
    },
    maxSilence: SILENCE,
    longestPause: LONGEST_PAUSE,
    failure: trouble,
    signal,
    onState: (state) => {
      if (state.kind === "connected") connection.value = "live";
      else if ("error" in state) {
        refused(state.error, token);
        if (!signal.aborted) connection.value = state.kind === "failed" ? "refused" : "lost";
      }
    },
  });
  for await (const _ of events);
}

/** Reads all settings unless they are known, then each change; yields after each. */
async function* readChanges(_: undefined, options: StreamOptions): AsyncGenerator<undefined> {
  const { signal } = options;
  if (settings.peek() === undefined) {
    // A unary reply is compressed, unlike a stream's snapshot.
    settings.value = await all(signal);
    options.onHeader();
  }
  const request = { afterEtag: settings.peek()?.etag ?? "" };
  for await (const event of settingService.watchSettings(request, options)) {
    await take(event, signal);
    yield;
  }
}

async function take({ revision, etag, event }: WatchSettingsResponse, signal: AbortSignal) {
  const known = settings.peek();
  if (known === undefined) return;
  if (event.case === "snapshot") {
    // The database was restored, or no longer keeps the changes since: read everything again.
    settings.value = await all(signal);
    return;
  }
  if (event.case !== "change") {
    settings.value = { revision, etag, byKey: known.byKey };
    return;
  }
  const change = event.value;
  const byKey = await withChanges(known.byKey, change, signal);
  settings.value = { revision, etag, byKey };
  rememberRevision(revision, change);
  void announce({ revision, actor: change.actor, keys: change.changes.map(({ key }) => key) });
}

/**
 * Applies changes to the settings. Events contain only values: definitions and marks such as
 * `managed` are read separately.
 */
async function withChanges(
  known: Settings["byKey"],
  { changes }: SettingsChange,
  signal: AbortSignal,
): Promise<Settings["byKey"]> {
  const gone = changes.filter(({ newValue }) => newValue === undefined).map(({ key }) => key);
  const keys = changes.map(({ key }) => key).filter((key) => !gone.includes(key));
  if (keys.length > FEW) return (await all(signal)).byKey;
  const byKey = new Map(known);
  for (const key of gone) byKey.delete(key);
  if (keys.length === 0) return byKey;
  try {
    const read = await settingService.batchGetSettings({ keys, maskSecrets: true }, { signal });
    for (const setting of read.settings) byKey.set(setting.key, setting);
    return byKey;
  } catch (error) {
    // One of the settings has been deleted in the meantime.
    if (ConnectError.from(error).code === Code.NotFound) return (await all(signal)).byKey;
    throw error;
  }
}

async function all(signal: AbortSignal): Promise<Settings> {
  const read = await settingService.listSettings({ maskSecrets: true }, { signal });
  const byKey = new Map(read.settings.map((setting) => [setting.key, setting]));
  return { revision: read.revision, etag: read.etag, byKey };
}

async function announce(change: Arrival): Promise<void> {
  await until(() => saving.value === 0);
  if (!own.delete(change.revision)) arrival.value = change;
}
