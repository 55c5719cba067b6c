import { create } from "@bufbuild/protobuf";
import { effect, signal, untracked } from "@preact/signals";
import { type Setting, SettingSchema } from "../../../gen/mooring/v1/setting_pb.js";
import { settings } from "../api/live.ts";
import { rights } from "../api/rights.ts";
import { ended, session } from "../api/session.ts";
import { list } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";
import { say } from "../shell/toast.tsx";
import { type Edit, edits } from "./edit.ts";

/** Key in the tab's storage of the edits, which survive a reload and an ended token. */
const KEPT = "mooring.edits";

/** Stored edits of one principal. Values of secret settings are not stored. */
interface Kept {
  readonly principal: string;
  readonly edits: readonly KeptEdit[];
  /** Names of edited secret settings. */
  readonly secrets: readonly string[];
}

interface KeptEdit {
  readonly key: string;
  readonly mine: string;
  /** Setting at the beginning of the edit. */
  readonly value: string;
  readonly etag: string;
  readonly revision: string;
}

/** Principal whose edits have been restored. */
const restored = signal<string | undefined>(undefined);

/** Stores the edits in the tab as they change, and restores those of the same principal. Called once. */
export function keepEdits(): void {
  session.subscribe((now) => {
    if (now !== undefined) return;
    restored.value = undefined;
    edits.value = new Map();
    if (ended.peek() === "byUser") sessionStorage.removeItem(KEPT);
  });
  effect(() => {
    const principal = rights.value?.principal;
    const live = settings.value;
    if (principal === undefined || live === undefined || session.value === undefined) return;
    if (restored.peek() === principal) return;
    restored.value = principal;
    untracked(() => restore(principal, live.byKey));
  });
  effect(() => {
    const principal = restored.value;
    if (principal !== undefined) store(principal, edits.value);
  });
}

function store(principal: string, of: ReadonlyMap<string, Edit>): void {
  if (of.size === 0) {
    sessionStorage.removeItem(KEPT);
    return;
  }
  const open = [...of.values()].filter(({ base }) => !base.secret);
  const kept: Kept = {
    principal,
    edits: open.map(({ base, mine }) => ({
      key: base.key,
      mine,
      value: base.value,
      etag: base.etag,
      revision: String(base.revision),
    })),
    secrets: [...of.values()].filter(({ base }) => base.secret).map(({ base }) => base.key),
  };
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(kept));
  } catch {
    // More than the browser stores: the page asks before it is left.
    sessionStorage.removeItem(KEPT);
  }
}

function restore(principal: string, live: ReadonlyMap<string, Setting>): void {
  const stored = sessionStorage.getItem(KEPT);
  if (stored === null) return;
  const kept = JSON.parse(stored) as Kept;
  if (kept.principal !== principal) return;
  const found = kept.edits.map(({ key, mine, ...base }): [string, Edit] => [
    key,
    { base: baseOf(key, base, live.get(key)), mine },
  ]);
  edits.value = new Map([...found, ...edits.peek()]);
  if (kept.secrets.length > 0) say(t("edits.secretsLost", { keys: list(kept.secrets) }));
}

/** Setting at the beginning of an edit: the current one, unless that has changed since. */
function baseOf(
  key: string,
  { value, etag, revision }: Omit<KeptEdit, "key" | "mine">,
  now: Setting | undefined,
): Setting {
  if (now?.etag === etag) return now;
  const base = now ?? create(SettingSchema, { key });
  return { ...base, value, etag, revision: BigInt(revision) };
}
