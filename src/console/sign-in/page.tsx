import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { failureOf } from "../api/failure.ts";
import { enter as signIn } from "../api/rights.ts";
import { ended } from "../api/session.ts";
import { t } from "../i18n/language.ts";
import { Button } from "../part/button.tsx";
import { Notice } from "../part/state.tsx";
import { Logo, Looks } from "../shell/menu.tsx";
import "../part/field.css";
import "./page.css";

/** Asks for a token. It goes to the service and into memory; nowhere else unless one says so. */
export function SignIn() {
  const field = useRef<HTMLInputElement>(null);
  const wrong = useSignal("");
  const busy = useSignal(false);
  const keep = useSignal(false);
  useEffect(() => {
    document.title = `${t("signIn.title")} · Mooring`;
  });
  useEffect(() => field.current?.focus(), []);
  const enter = async (): Promise<void> => {
    const token = field.current?.value.trim() ?? "";
    if (token === "") {
      wrong.value = t("signIn.empty");
      return field.current?.focus();
    }
    busy.value = true;
    try {
      // A token is a header: what cannot be one is none.
      if (!/^[\x21-\x7e]+$/.test(token)) throw new RangeError("no token");
      await signIn(token, { keep: keep.value });
    } catch (thrown) {
      const { kind, message } = failureOf(thrown);
      if (thrown instanceof RangeError) wrong.value = t("signIn.noToken");
      else wrong.value = kind === "offline" ? t("state.offline") : message;
      field.current?.focus();
    } finally {
      busy.value = false;
    }
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy.value) void enter();
        }}
      >
        <h1>
          <Logo /> Mooring
        </h1>
        {ended.value === "tokenEnded" && <Notice kind="warning">{t("signIn.tokenEnded")}</Notice>}
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
        <label class="check">
          <input
            type="checkbox"
            checked={keep.value}
            onChange={(event) => {
              keep.value = event.currentTarget.checked;
            }}
          />
          <span>{t("signIn.keep")}</span>
        </label>
        <Button kind="main" type="submit" disabled={busy.value}>
          {t("signIn.enter")}
        </Button>
      </form>
      <Looks />
    </main>
  );
}
