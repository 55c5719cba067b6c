import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { failureOf } from "../api/failure.ts";
import { loginAddress } from "../api/login.ts";
import { enter as signIn } from "../api/rights.ts";
import { sharesOrigin } from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { signInTexts } from "../i18n/en/sign-in.ts";
import { addMessages, t } from "../i18n/language.ts";
import { Looks } from "../shell/menu.tsx";
import { Entry } from "./entry.tsx";
import { LoginForm } from "./login-form.tsx";
import "../components/field.css";
import "./page.css";

addMessages(signInTexts);

/** Sign-in with a token, or with the login of an admin of the upstream. */
export function SignIn() {
  const byToken = useSignal(loginAddress === undefined);
  useEffect(() => {
    document.title = `${t("signIn.title")} · Mooring`;
  });
  return (
    <main class="sign-in">
      {byToken.value ? <TokenForm /> : <LoginForm />}
      {loginAddress !== undefined && (
        <Button
          kind="bare"
          onClick={() => {
            byToken.value = !byToken.value;
          }}
        >
          {t(byToken.value ? "login.instead" : "login.tokenInstead")}
        </Button>
      )}
      <Looks />
    </main>
  );
}

/** Form for a token. */
function TokenForm() {
  const field = useRef<HTMLInputElement>(null);
  const wrong = useSignal("");
  useLayoutEffect(() => field.current?.focus(), []);
  const enter = async (keep: boolean): Promise<void> => {
    const token = field.current?.value.trim() ?? "";
    try {
      if (token === "") wrong.value = t("signIn.empty");
      // A token must be a valid header value.
      else if (!/^[\x21-\x7e]+$/.test(token)) wrong.value = t("signIn.noToken");
      else return await signIn(token, { keep });
    } catch (thrown) {
      const { kind, message } = failureOf(thrown);
      wrong.value = kind === "offline" ? t("state.offline") : message;
    }
    field.current?.focus();
  };
  return (
    <Entry onEnter={enter} isKept={!sharesOrigin}>
      <div>
        <label class="label" for="token">
          {t("signIn.token")}
        </label>
        <input
          id="token"
          ref={field}
          class="input mono"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          aria-invalid={wrong.value !== ""}
          aria-describedby="token-help token-wrong"
        />
        <p class="wrong" id="token-wrong" role="alert">
          {wrong}
        </p>
        <p class="quiet small" id="token-help">
          {t("signIn.help")}
        </p>
      </div>
    </Entry>
  );
}
