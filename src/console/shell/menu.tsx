import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { connection, settings } from "../api/live.ts";
import { logOut } from "../api/login.ts";
import { rights } from "../api/rights.ts";
import { session, signOut } from "../api/session.ts";
import { Button, Icon } from "../components/button.tsx";
import { chooseLanguage, language, languages, t } from "../i18n/language.ts";
import type { Language } from "../i18n/preferred.ts";
import { edits } from "../settings/edit.ts";
import { load, pageAt } from "./current-page.tsx";
import { href, place } from "./location.ts";
import { isOpen, type Page, pages } from "./pages.ts";
import { openPalette } from "./palette-open.ts";
import { theme, themes } from "./theme.ts";
import "./menu.css";

/** Menu: permitted pages, state of the connection, language and appearance. */
export function Menu() {
  const shown = pages.filter((page) => page.icon !== undefined && isOpen(page));
  const rest = shown.filter((page) => page.rest);
  const more = useSignal(false);
  // Navigation closes the menu.
  useEffect(() => place.subscribe(() => (more.value = false)), [more]);
  return (
    <div class="menu">
      <header>
        <a class="brand" href={href("")}>
          <Logo /> Mooring
        </a>
        <button type="button" class="ask" onClick={openPalette}>
          <Icon name="search" /> <span>{t("palette.open")}</span>
          <kbd>Ctrl K</kbd>
        </button>
      </header>
      <nav aria-label={t("menu.pages")} class={more.value ? "open" : ""}>
        <ul>
          {shown
            .filter((page) => !page.rest)
            .map((page) => (
              <Entry key={page.name} page={page} />
            ))}
        </ul>
        {rest.length > 0 && (
          <>
            <button
              type="button"
              class={rest.some(isHere) ? "more here" : "more"}
              aria-expanded={more.value}
              aria-controls="menu-rest"
              onClick={() => (more.value = !more.peek())}
            >
              <Icon name="more" /> <span>{t("menu.more")}</span>
            </button>
            <ul class="rest" id="menu-rest">
              {rest.map((page) => (
                <Entry key={page.name} page={page} />
              ))}
            </ul>
          </>
        )}
      </nav>
      <footer>
        <ConnectionState />
        <Looks />
      </footer>
    </div>
  );
}

function Entry({ page }: { readonly page: Page }) {
  const waiting = page.name === "settings" ? edits.value.size : 0;
  return (
    <li>
      <a
        href={href(page.name)}
        aria-current={isHere(page) ? "page" : undefined}
        onPointerEnter={() => void load(page)}
      >
        {page.icon && <Icon name={page.icon} />}
        <span>{t(page.title)}</span>
        {waiting > 0 && (
          <span class="unsaved" title={t("edits.count", { count: waiting })}>
            {waiting}
          </span>
        )}
      </a>
    </li>
  );
}

/** Reports whether a page, or one of its subpages, is current. */
function isHere(page: Page): boolean {
  const current = pageAt(place.value.page);
  return page === current || current?.below === page.name;
}

/** State of the live connection; absent without the right to read settings. */
function ConnectionState() {
  const state = connection.value;
  const revision = settings.value?.revision;
  return (
    <>
      {rights.value && (
        <p class="whose small quiet" title={t("session.whose")}>
          <Icon name="person" /> <span>{rights.value.principal}</span>
        </p>
      )}
      {state !== "refused" && (
        <p class={`connection ${state}`} role="status">
          <span class="dot" aria-hidden="true" />
          <span>{t(`connection.${state}`)}</span>
          {revision !== undefined && (
            <span class="quiet small">{t("row.revision", { revision: String(revision) })}</span>
          )}
        </p>
      )}
    </>
  );
}

/** Buttons for theme, language and sign-out. */
export function Looks() {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "auto";
  const icons = { auto: "half", light: "sun", dark: "moon" } as const;
  return (
    <div class="looks">
      <Button
        kind="bare"
        icon={icons[theme.value]}
        aria-label={t(`theme.${theme.value}`)}
        onClick={() => {
          theme.value = next;
        }}
      />
      <label>
        <span class="unseen">{t("language.label")}</span>
        <select
          class="input"
          value={language.value}
          onChange={(event) => void chooseLanguage(event.currentTarget.value as Language)}
        >
          {Object.entries(languages).map(([code, name]) => (
            <option key={code} value={code} lang={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {session.value !== undefined && (
        <Button kind="bare" icon="leave" aria-label={t("session.signOut")} onClick={leave} />
      )}
    </div>
  );
}

/** Signs out, and ends the session of an upstream's admin at the upstream. */
function leave(): void {
  const token = session.peek()?.token;
  if (token !== undefined && rights.peek()?.isVisitor === true) void logOut(token);
  signOut("byUser");
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="5" r="2.500" />
      <path d="M12 7.500V21M7 11h10M4 14c.6 4.200 4 7 8 7s7.400-2.800 8-7" />
    </svg>
  );
}
