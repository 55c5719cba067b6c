import { Code, ConnectError } from "@connectrpc/connect";
import { computed, effect, signal, untracked } from "@preact/signals";
import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import type {
  SettingsChange,
  WatchSettingsResponse,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { language } from "../i18n/language.ts";
import { refused, settingService } from "./client.ts";
import { isBlind } from "./early.ts";
import { type Failure, failureOf } from "./failure.ts";
import { rememberRevision } from "./revision.ts";
import { may, rights } from "./rights.ts";
import { session } from "./session.ts";
import { pause, until, untilSeen, whenHidden } from "./wait.ts";

/** All settings at one revision. Never changed; each revision has one of its own. */
export interface Settings {
  readonly revision: bigint;
  readonly byKey: ReadonlyMap<string, Setting>;
}

/** What another has just changed. */
export interface Arrival {
  readonly revision: bigint;
  readonly actor: string;
  readonly keys: readonly string[];
}

/** `waiting`: nothing has come yet; `lost`: it is tried again; `refused`: the token may not read. */
export type Connection = "waiting" | "live" | "lost" | "refused";

export const connection = signal<Connection>("waiting");
/** Why the connection is lost or refused. */
export const trouble = signal<Failure | undefined>(undefined);
/** Undefined until the first snapshot. */
export const settings = signal<Settings | undefined>(undefined);
export const arrival = signal<Arrival | undefined>(undefined);

/** The service sends a bookmark every 15 s; two missed and the connection is dead. In milliseconds. */
const SILENCE = 40_000;
/** A tab that nobody looks at gives its connection back after so long: browsers have six. */
const HIDDEN = 30_000;
const RETRY = { first: 250, most: 8_000 } as const;
/** Changed keys that are read one by one; beyond it, everything is read. */
const FEW = 500;

/** Changes that this page has made, so that they are not told as somebody else's. */
const own = new Set<bigint>();
/** Saves under way: until they end, nobody knows whose a change is. */
const saving = signal(0);

/** Whether a save of this page is under way. */
export const isSaving = computed(() => saving.value > 0);

/** Makes a change of this page. Its result carries the revision that it made. */
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

/** Follows the settings for as long as somebody is signed in. Call it once. */
export function followSettings(): void {
  effect(() => {
    const token = session.value?.token;
    trouble.value = undefined;
    connection.value = "waiting";
    if (token === undefined) {
      settings.value = undefined;
      return;
    }
    // Where nobody knows yet, the service says it.
    const known = isBlind ? rights.value : rights.peek();
    if (isBlind && known === undefined) return;
    if (known !== undefined && !untracked(() => may("settings:read"))) {
      connection.value = "refused";
      return;
    }
    const leaving = new AbortController();
    void follow(token, leaving.signal);
    return () => leaving.abort();
  });
  language.subscribe(() => void translate());
}

/** Reads the settings with their texts in another language. */
async function translate(): Promise<void> {
  if (settings.peek() === undefined) return;
  const read = await all(AbortSignal.timeout(SILENCE)).catch(() => undefined);
  const known = settings.peek();
  if (read !== undefined && known !== undefined)
    settings.value = { revision: known.revision, byKey: read.byKey };
}

async function follow(token: string, left: AbortSignal): Promise<void> {
  let wait: number = RETRY.first;
  while (!left.aborted) {
    await untilSeen(left);
    try {
      await watch(left, () => {
        wait = RETRY.first;
      });
    } catch (error) {
      refused(error, token);
      if (left.aborted) return;
      const { code } = ConnectError.from(error);
      // Older than what is kept, or of another database: begin anew.
      if (code === Code.OutOfRange) settings.value = undefined;
      trouble.value = failureOf(error);
      connection.value = code === Code.PermissionDenied ? "refused" : "lost";
      if (code === Code.PermissionDenied) return;
    }
    await pause(wait, left);
    wait = Math.min(wait * 2, RETRY.most);
  }
}

/** Reads one stream to its end: the page is hidden, the connection lost, or the right to it. */
async function watch(left: AbortSignal, onOpen: () => void): Promise<void> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const signal = AbortSignal.any([left, ending.signal]);
  const unwatch = whenHidden(HIDDEN, end);
  let silence = setTimeout(end, SILENCE);
  const open = (): void => {
    clearTimeout(silence);
    silence = setTimeout(end, SILENCE);
    connection.value = "live";
    trouble.value = undefined;
    onOpen();
  };
  try {
    if (settings.peek() === undefined) {
      // As a reply of its own it comes compressed, which a stream's snapshot does not.
      settings.value = await all(signal);
      open();
    }
    const request = { afterRevision: settings.peek()?.revision ?? 0n };
    // Where nothing has changed, nothing comes for a while: the headers say that it is open.
    const stream = settingService.watchSettings(request, { signal, onHeader: open });
    for await (const event of stream) {
      await take(event, signal);
      open();
    }
  } catch (error) {
    if (!document.hidden) throw error;
  } finally {
    clearTimeout(silence);
    unwatch();
  }
}

async function take({ revision, event }: WatchSettingsResponse, signal: AbortSignal) {
  const known = settings.peek();
  if (known === undefined) return;
  if (event.case !== "change") {
    settings.value = { revision, byKey: known.byKey };
    return;
  }
  const change = event.value;
  const byKey = await withChanges(known.byKey, change, signal);
  settings.value = { revision, byKey };
  rememberRevision(revision, change);
  void tell({ revision, actor: change.actor, keys: change.changes.map(({ key }) => key) });
}

/** An event has values; definitions and marks such as `managed` are read with the settings. */
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
    // One of them has been deleted since.
    if (ConnectError.from(error).code === Code.NotFound) return (await all(signal)).byKey;
    throw error;
  }
}

async function all(signal: AbortSignal): Promise<Settings> {
  const read = await settingService.listSettings({ maskSecrets: true }, { signal });
  const byKey = new Map(read.settings.map((setting) => [setting.key, setting]));
  return { revision: read.revision, byKey };
}

async function tell(change: Arrival): Promise<void> {
  await until(() => saving.value === 0);
  if (!own.delete(change.revision)) arrival.value = change;
}
