import { effect, type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { keep, keptInput } from "../api/kept.ts";
import { list } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";
import { Button } from "./button.tsx";
import { Notice } from "./state.tsx";

/** Format of the unsaved inputs of a form in the storage of the tab. */
export interface DraftFormat<D> {
  /** Name of the form, such as `mount:films`. */
  readonly name: string;
  /** The inputs before the first key press. */
  initial(): D;
  /** Names of the inputs that differ from those before the first key press. */
  changes(draft: D): readonly string[];
  /** @returns the inputs without secrets, as JSON, and the names of the typed secrets. */
  write(draft: D): { readonly value: unknown; readonly secrets: readonly string[] };
  /** The inputs that `write` has returned. */
  read(value: unknown): D;
}

/** Inputs of a form, which stay after a reload and on other pages until they are saved or discarded. */
export interface KeptDraft<D> {
  readonly draft: Signal<D>;
  /** Names of secrets that were typed before the reload; undefined: no inputs were kept. */
  readonly lost: readonly string[] | undefined;
  /** Whether a secret is typed, which a reload would lose. */
  readonly hasSecrets: boolean;
  /** Returns to the saved state. */
  discard(): void;
  /** Forgets the inputs, which have been saved or given up. */
  forget(): void;
}

/** Stored form of a draft. */
interface Stored {
  readonly value: unknown;
  readonly secrets: readonly string[];
}

/** @param format constant while the component is shown. */
export function useKeptDraft<D>(format: DraftFormat<D>): KeptDraft<D> {
  const [restored] = useState(() => restore(format));
  const draft = useSignal<D>(restored?.draft ?? format.initial());
  const lost = useSignal(restored?.secrets);
  const latest = useRef(format);
  latest.current = format;
  // Stored at once: `useSignalEffect` waits for a frame, and the page may be left before it.
  useLayoutEffect(
    () =>
      effect(() => {
        // Until they change, the stored inputs name the secrets that were lost.
        if (draft.value === restored?.draft) return;
        const { name, changes, write } = latest.current;
        const isEdited = changes(draft.value).length > 0;
        keep(name, isEdited ? write(draft.value) : undefined);
      }),
    [draft, restored],
  );
  const forget = (): void => {
    lost.value = undefined;
    keep(format.name, undefined);
  };
  return {
    draft,
    lost: lost.value,
    hasSecrets: format.write(draft.value).secrets.length > 0,
    discard: () => {
      draft.value = format.initial();
      forget();
    },
    forget,
  };
}

function restore<D>({ name, read }: DraftFormat<D>) {
  const stored = keptInput(name) as Stored | undefined;
  if (stored === undefined) return undefined;
  try {
    return { draft: read(stored.value), secrets: stored.secrets };
  } catch {
    // Another version of the console has stored it.
    return undefined;
  }
}

/** Notice that the form shows inputs from before a reload, with the secrets to type again. */
export function KeptNotice({ of }: { readonly of: Omit<KeptDraft<never>, "draft"> }) {
  if (of.lost === undefined) return null;
  return (
    <Notice kind="warning">
      {t("kept.restored")}{" "}
      {of.lost.length > 0 && <span>{t("kept.lost", { names: list(of.lost) })} </span>}
      <Button onClick={of.discard}>{t("kept.discard")}</Button>
    </Notice>
  );
}

/** Notice that a typed secret is not kept. */
export function SecretHint({ of }: { readonly of: Omit<KeptDraft<never>, "draft"> }) {
  return of.hasSecrets ? <p class="quiet small">{t("kept.hint")}</p> : null;
}
