import { connection, trouble } from "../api/live.ts";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { CurrentPage } from "./current-page.tsx";
import { Logo, Looks, Menu } from "./menu.tsx";
import { Palette } from "./palette-host.tsx";
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
