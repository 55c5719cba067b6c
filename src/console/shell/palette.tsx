import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { catalogue, driverService } from "../api/drivers.ts";
import { settings } from "../api/live.ts";
import { may } from "../api/rights.ts";
import { Icon, type IconName } from "../components/button.tsx";
import { t } from "../i18n/language.ts";
import { labelOf } from "../settings/label.ts";
import { go, href } from "./location.ts";
import { isOpen, pages } from "./pages.ts";
import { paletteOpen } from "./palette-open.ts";
import "../components/field.css";
import "./palette.css";

interface Goal {
  readonly name: string;
  /** Detail beside its name. */
  readonly detail: string;
  readonly icon: IconName;
  readonly address: string;
}

/** Maximum number of shown goals. */
const MOST = 12;

/** Command palette: opens a page, a setting or a driver by a few letters of its name. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const text = useSignal("");
  const at = useSignal(0);
  const drivers = useSignal<readonly string[]>([...(catalogue.peek()?.drivers.keys() ?? [])]);
  useEffect(() => {
    dialog.current?.showModal();
    if (drivers.peek().length > 0 || !may("drivers:read")) return;
    // Without drivers, pages and settings can still be found.
    driverService.listDriverNames({}).then(
      ({ names }) => {
        drivers.value = names;
      },
      () => undefined,
    );
  }, [drivers]);
  const found = goals(drivers.value)
    .map((goal) => ({ goal, rank: rankOf(goal, text.value) }))
    .filter(({ rank }) => rank > 0)
    .sort((one, other) => other.rank - one.rank)
    .slice(0, MOST)
    .map(({ goal }) => goal);
  const chosen = found[Math.min(at.value, found.length - 1)];
  const leave = (): void => {
    dialog.current?.close();
    paletteOpen.value = false;
  };
  const open = (goal: Goal | undefined): void => {
    leave();
    if (goal !== undefined) go(goal.address);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // The key belongs to an active input method.
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") open(chosen);
    else if (event.key === "Escape") leave();
    else if (step !== undefined)
      at.value = (Math.min(at.value, found.length - 1) + step + found.length) % found.length;
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, by the browser too.
    <dialog
      ref={dialog}
      class="palette"
      aria-label={t("palette.open")}
      onClose={(event) => {
        // The event is late: another palette may have been opened in the meantime.
        if (event.currentTarget === dialog.current) leave();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) leave();
      }}
    >
      <input
        class="input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen ? `goal-${found.indexOf(chosen)}` : undefined}
        aria-label={t("palette.label")}
        placeholder={t("palette.label")}
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <div id="palette-list" role="listbox" aria-label={t("palette.goals")}>
        {found.map((goal, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles keys.
          <div
            key={goal.address}
            id={`goal-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={goal === chosen}
            onClick={() => open(goal)}
          >
            <Icon name={goal.icon} />
            <span>{goal.name}</span>
            <span class="quiet small">{goal.detail}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="quiet none">{t("palette.none")}</p>}
    </dialog>
  );
}

function goals(drivers: readonly string[]): Goal[] {
  const shown = pages
    .filter(isOpen)
    .flatMap(({ name, title, icon }) =>
      icon === undefined ? [] : [{ name: t(title), detail: "", icon, address: href(name) }],
    );
  const keys = [...(settings.value?.byKey.values() ?? [])].map((setting) => ({
    name: labelOf(setting),
    detail: setting.key,
    icon: "settings" as const,
    address: href("settings", { key: setting.key }),
  }));
  const names = drivers.map((name) => ({
    name,
    detail: t("palette.driver"),
    icon: "drivers" as const,
    address: href("drivers", { name }),
  }));
  return [...shown, ...names, ...keys];
}

/** Rank of a match: beginning of the text, beginning of a word, or anywhere; 0: none. */
function rankOf({ name, detail, icon }: Goal, text: string): number {
  const wanted = text.trim().toLowerCase();
  const whole = `${name} ${detail}`.toLowerCase();
  if (wanted === "") return icon === "settings" && detail !== "" ? 0 : detail === "" ? 2 : 0;
  const bonus = detail === "" ? 1 : 0;
  if (name.toLowerCase() === wanted || detail === wanted) return 5 + bonus;
  if (whole.startsWith(wanted)) return 4 + bonus;
  const words = wanted.split(/\s+/);
  if (words.every((word) => ` ${whole.replaceAll("_", " ")}`.includes(` ${word}`)))
    return 3 + bonus;
  return words.every((word) => whole.includes(word)) ? 1 + bonus : 0;
}
