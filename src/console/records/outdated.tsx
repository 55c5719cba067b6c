import { useEffect } from "preact/hooks";
import { Button } from "../components/button.tsx";
import type { KeptDraft } from "../components/kept-draft.tsx";
import { Notice } from "../components/state.tsx";
import { list } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";

/** Record with an etag, such as a mount or a site. */
export interface Stored {
  readonly etag: string;
}

/** A state of a record that is newer than the one that the inputs of its form started from. */
export interface NewerState {
  /** Names of inputs that have changed on both sides. */
  readonly both: readonly string[];
  /** Applies the inputs to the newest state. */
  readonly onContinue: () => void;
  /** Shows the newest state, without the inputs. */
  readonly onDiscard: () => void;
}

/**
 * Watches for a newer state of the record of a form. It is shown at once if nothing was typed.
 *
 * @param record as last received; undefined: a new one.
 */
export function useNewerState<R extends Stored, D extends { readonly base: R | undefined }>(
  record: R | undefined,
  kept: KeptDraft<D>,
  rules: {
    draftOf(record: R | undefined): D;
    /** Names of the inputs that differ from the base of the draft. */
    changes(draft: D): readonly string[];
    rebased(draft: D, record: R): D;
  },
): NewerState | undefined {
  const { draft } = kept;
  const { base } = draft.value;
  const isOutdated = record !== undefined && record.etag !== base?.etag;
  const mine = isOutdated ? rules.changes(draft.value) : [];
  const isShown = isOutdated && mine.length === 0;
  useEffect(() => {
    if (isShown) draft.value = rules.draftOf(record);
  }, [isShown, record, draft]);
  if (!isOutdated || isShown) return undefined;
  const theirs = rules.changes({ ...rules.draftOf(record), base });
  return {
    both: mine.filter((name) => theirs.includes(name)),
    onContinue: () => {
      draft.value = rules.rebased(draft.peek(), record);
    },
    onDiscard: kept.discard,
  };
}

/** Notice that another client has changed the record of a form, with the ways to continue. */
export function Outdated({ of }: { readonly of: NewerState | undefined }) {
  if (of === undefined) return null;
  return (
    <Notice kind="warning">
      <p>{t("record.outdated")}</p>
      {of.both.length > 0 && <p>{t("record.both", { names: list(of.both) })}</p>}
      <div class="ways">
        <Button onClick={of.onContinue}>{t("record.continue")}</Button>
        <Button onClick={of.onDiscard}>{t("record.newest")}</Button>
      </div>
    </Notice>
  );
}
