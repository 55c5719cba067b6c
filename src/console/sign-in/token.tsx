import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { failureOf } from "../api/failure.ts";
import { enter as signIn } from "../api/rights.ts";
import { t } from "../i18n/language.ts";
import { Entry } from "./entry.tsx";

/** Form for a token. It is sent to the service and kept in memory; elsewhere only on request. */
export function TokenForm() {
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
    <Entry onEnter={enter}>
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
