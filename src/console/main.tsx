import { effect, signal } from "@preact/signals";
import { type ComponentType, render } from "preact";
import { UNREACHED } from "./api/failure.ts";
import { until } from "./api/follow.ts";
import { forgetKept } from "./api/kept.ts";
import { connection, followSettings } from "./api/live.ts";
import { followOffers, followRights, rights } from "./api/rights.ts";
import { askTabs, session } from "./api/session.ts";
import { Failed } from "./components/state.tsx";
import { setLanguage } from "./i18n/language.ts";
import { preferredLanguage } from "./i18n/preferred.ts";
import { edits, followEdits } from "./settings/edit.ts";
import { keepEdits } from "./settings/kept-edits.ts";
import { followViolations } from "./settings/save.ts";
import { load, pageAt } from "./shell/current-page.tsx";
import { followLocation, place } from "./shell/location.ts";
import { Shell } from "./shell/shell.tsx";
import { followTheme } from "./shell/theme.ts";
import { followOthers } from "./shell/toast.tsx";
import "./style/tokens.css";
import "./style/base.css";
import "./style/layout.css";

/**
 * Maximum wait for the first answers, or for the session of another tab, before the page is drawn
 * without them, in milliseconds.
 */
const NEARLY = 200;

/** Page of the sign-in, which is loaded when there is no session. */
const signIn = signal<{ readonly SignIn: ComponentType } | "failed" | undefined>(undefined);

async function loadSignIn(): Promise<void> {
  signIn.value = await import("./sign-in/page.tsx").catch(() => "failed" as const);
}

/** Shows and requests nothing before sign-in. */
function Console() {
  if (session.value !== undefined) return <Shell />;
  if (signIn.value === "failed") return <Failed failure={UNREACHED} />;
  return signIn.value ? <signIn.value.SignIn /> : null;
}

effect(() => {
  if (session.value === undefined && typeof signIn.peek() !== "object") void loadSignIn();
});
followTheme();
followLocation();
// Set first: requests for the service's texts use this language.
const translated = setLanguage(preferredLanguage());
followSettings();
followRights();
followOffers();
followEdits();
forgetKept();
keepEdits();
followViolations();
followOthers();
addEventListener("beforeunload", (event) => {
  if (edits.peek().size > 0) event.preventDefault();
});

// Loads the code of the page during the initialization.
const arrived = pageAt(place.peek().page);
if (session.peek() !== undefined && arrived !== undefined) void load(arrived);

await translated;
// The early requests are answered, or nearly so: the page is drawn once, with their data.
const answered = until(() => rights.value !== undefined && connection.value !== "waiting");
const late = new Promise((resolve) => setTimeout(resolve, NEARLY));
if (session.peek() === undefined) askTabs();
await Promise.race([answered, late]);
const root = document.getElementById("console");
if (root !== null) render(<Console />, root);
