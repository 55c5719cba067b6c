import type { Signal } from "@preact/signals";
import { t } from "../i18n/language.ts";

/** Parts of an archive, in their order. */
export const PARTS = ["settings", "mounts", "sites", "webhooks", "principals"] as const;

type Part = (typeof PARTS)[number];

/** Name of a part for display; other lists of a backup have their own names. */
export function partName(part: string): string {
  return PARTS.some((each) => each === part) ? t(`backup.part.${part as Part}`) : part;
}

/** Choice of parts. @param chosen names; empty: all. */
export function Parts({ chosen }: { readonly chosen: Signal<readonly string[]> }) {
  const isChosen = (part: string): boolean =>
    chosen.value.length === 0 || chosen.value.includes(part);
  const toggle = (part: string): void => {
    const next = PARTS.filter((each) => (each === part ? !isChosen(each) : isChosen(each)));
    // At least one part is chosen.
    if (next.length > 0) chosen.value = next.length === PARTS.length ? [] : next;
  };
  return (
    <fieldset class="marks">
      <legend class="label">{t("backup.parts")}</legend>
      {PARTS.map((part) => (
        <label key={part} class="check">
          <input type="checkbox" checked={isChosen(part)} onChange={() => toggle(part)} />
          <span>{partName(part)}</span>
        </label>
      ))}
    </fieldset>
  );
}
