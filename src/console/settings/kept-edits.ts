import { create } from "@bufbuild/protobuf";
import { effect, signal, untracked } from "@preact/signals";
import { type Setting, SettingSchema } from "../../../gen/mooring/v1/setting_pb.js";
import { keep, keptInput } from "../api/kept.ts";
import { settings } from "../api/live.ts";
import { rights } from "../api/rights.ts";
import { session } from "../api/session.ts";
import { list } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";
import { say } from "../shell/toast.tsx";
import { type Edit, edits } from "./edit.ts";

/** Name of the edits among the kept inputs. */
const NAME = "edits";

/** Stored edits. Values of secret settings are not stored. */
interface Kept {
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
  });
  effect(() => {
    const principal = rights.value?.principal;
    const live = settings.value;
    if (principal === undefined || live === undefined || session.value === undefined) return;
    if (restored.peek() === principal) return;
    restored.value = principal;
    untracked(() => restore(live.byKey));
  });
  effect(() => {
    if (restored.value !== undefined) store(edits.value);
  });
}

function store(of: ReadonlyMap<string, Edit>): void {
  if (of.size === 0) {
    keep(NAME, undefined);
    return;
  }
  const open = [...of.values()].filter(({ base }) => !base.secret);
  const kept: Kept = {
    edits: open.map(({ base, mine }) => ({
      key: base.key,
      mine,
      value: base.value,
      etag: base.etag,
      revision: String(base.revision),
    })),
    secrets: [...of.values()].filter(({ base }) => base.secret).map(({ base }) => base.key),
  };
  // If it is more than the browser stores, the page asks before it is left.
  keep(NAME, kept);
}

function restore(live: ReadonlyMap<string, Setting>): void {
  const kept = keptInput(NAME) as Kept | undefined;
  if (kept === undefined) return;
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
