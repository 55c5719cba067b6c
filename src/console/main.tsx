import { render } from "preact";
import { followSettings } from "./api/live.ts";
import { followRights } from "./api/rights.ts";
import { session } from "./api/session.ts";
import { preferredLanguage, speak } from "./i18n/language.ts";
import { edits, followEdits } from "./settings/edit.ts";
import { followViolations } from "./settings/save.ts";
import { load, pageAt } from "./shell/current-page.tsx";
import { followLocation, place } from "./shell/location.ts";
import { Shell } from "./shell/shell.tsx";
import { followTheme } from "./shell/theme.ts";
import { followOthers } from "./shell/toast.tsx";
import { SignIn } from "./sign-in/page.tsx";
import "./style/tokens.css";
import "./style/base.css";
import "./style/layout.css";

/** Nothing is shown, and nothing asked for, before somebody has signed in. */
function Console() {
  return session.value === undefined ? <SignIn /> : <Shell />;
}

followTheme();
followLocation();
// First, so that the service's texts come in it.
const spoken = speak(preferredLanguage());
followSettings();
followRights();
followEdits();
followViolations();
followOthers();
// What one typed under one token is nobody else's.
session.subscribe((now) => {
  if (now === undefined) edits.value = new Map();
});
addEventListener("beforeunload", (event) => {
  if (edits.peek().size > 0) event.preventDefault();
});

// Its code is on its way while the rest begins.
const arrived = pageAt(place.peek().page);
if (session.peek() !== undefined && arrived !== undefined) void load(arrived);

await spoken;
const root = document.getElementById("console");
if (root !== null) render(<Console />, root);
