import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { connection, trouble } from "../api/live.ts";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { CurrentPage } from "./current-page.tsx";
import { Logo, Looks, Menu } from "./menu.tsx";
import { openPalette, paletteOpen } from "./palette-open.ts";
import { Toasts } from "./toast.tsx";
import "./shell.css";

/** Frame around every page. */
export function Shell() {
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {t("menu.skip")}
      </a>
      <Menu />
      <div class="page">
        <header class="narrow-head">
          <Logo />
          <Looks />
        </header>
        <main id="main" tabIndex={-1}>
          {connection.value === "lost" && (
            <Notice kind="warning">
              <strong>{t("connection.lostTitle")}</strong>
              <span>{trouble.value?.message || t("connection.lostHint")}</span>
            </Notice>
          )}
          <CurrentPage />
        </main>
      </div>
      <Toasts />
      <Palette />
    </div>
  );
}

const Loaded = signal<{ readonly Palette: ComponentType } | undefined>(undefined);

/** Command palette, opened with Ctrl K or ⌘ K. */
function Palette() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      openPalette();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const open = paletteOpen.value;
  useEffect(() => {
    if (open && Loaded.peek() === undefined)
      void import("./palette.tsx").then((module) => {
        Loaded.value = module;
      });
  }, [open]);
  const Shown = Loaded.value?.Palette;
  return open && Shown ? <Shown /> : null;
}
