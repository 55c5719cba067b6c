import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { loginAddress } from "../api/login.ts";
import { Button } from "../components/button.tsx";
import { t } from "../i18n/language.ts";
import { Looks } from "../shell/menu.tsx";
import { LoginForm } from "./login.tsx";
import { TokenForm } from "./token.tsx";
import "../components/field.css";
import "./page.css";

/** Signs in with a token; in front of a server also with the login of one of its admins. */
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
