import { signal } from "@preact/signals";
import { arrival } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { list } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";
import { href } from "./location.ts";
import "./toast.css";

interface Toast {
  readonly text: string;
  /** Address with details. */
  readonly address?: string;
}

/** Display time, in milliseconds. */
const STAYS = 6_000;
/** Maximum number of keys in a notice. */
const NAMED = 3;

const toast = signal<Toast | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a short notice. */
export function say(text: string, address?: string): void {
  toast.value = address === undefined ? { text } : { text, address };
  clearTimeout(timer);
  timer = setTimeout(() => {
    toast.value = undefined;
  }, STAYS);
}

/** Shows a notice for each change by another client. */
export function followOthers(): void {
  arrival.subscribe((change) => {
    if (change === undefined) return;
    const { actor, keys, revision } = change;
    const rest = keys.length - NAMED;
    const named = [
      ...keys.slice(0, NAMED),
      ...(rest > 0 ? [t("toast.more", { count: rest })] : []),
    ];
    say(
      t("toast.changed", { actor, keys: list(named) }),
      href("history", { revision: String(revision) }),
    );
  });
}

export function Toasts() {
  const shown = toast.value;
  return (
    <div class="toasts" role="status">
      {shown && (
        <div class="toast">
          <p>{shown.text}</p>
          {shown.address && <a href={shown.address}>{t("toast.show")}</a>}
          <Button
            kind="bare"
            icon="close"
            aria-label={t("action.close")}
            onClick={() => {
              toast.value = undefined;
            }}
          />
        </div>
      )}
    </div>
  );
}
