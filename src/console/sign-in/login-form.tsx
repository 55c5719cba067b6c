import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { failureOf } from "../api/failure.ts";
import { type LoginResult, logIn, logOut } from "../api/login.ts";
import { enter as signIn } from "../api/rights.ts";
import { t } from "../i18n/language.ts";
import { Entry } from "./entry.tsx";

/** Form for a login at the upstream, with a one-time code on request. */
export function LoginForm() {
  const name = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  const code = useRef<HTMLInputElement>(null);
  const wrong = useSignal("");
  const needsCode = useSignal(false);
  const isCodeWrong = useSignal(false);
  useLayoutEffect(() => name.current?.focus(), []);
  useLayoutEffect(() => code.current?.focus(), [needsCode.value]);
  const enter = async (keep: boolean): Promise<void> => {
    const username = name.current?.value.trim() ?? "";
    const typed = password.current?.value ?? "";
    const digits = code.current?.value.trim() ?? "";
    if (username === "" || typed === "") {
      wrong.value = t("login.empty");
      return (username === "" ? name : password).current?.focus();
    }
    isCodeWrong.value = false;
    const result = await logIn({ username, password: typed, code: digits });
    if (result.kind === "in") {
      wrong.value = await opens(result.token, keep);
      if (wrong.value !== "") password.current?.focus();
      return;
    }
    isCodeWrong.value = result.kind === "code";
    const isFirst = result.kind === "code" && !needsCode.value;
    if (result.kind === "code") needsCode.value = true;
    wrong.value = isFirst ? "" : wordsOf(result);
    (result.kind === "code" ? code : password).current?.select();
  };
  return (
    // The server's pages keep its sessions in the storage of the same origin.
    <Entry onEnter={enter} isKept={true}>
      <div>
        <label class="label" for="username">
          {t("login.name")}
        </label>
        <input
          id="username"
          ref={name}
          class="input"
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          aria-describedby="login-help login-wrong"
        />
      </div>
      <div>
        <label class="label" for="password">
          {t("login.password")}
        </label>
        <input
          id="password"
          ref={password}
          class="input"
          type="password"
          autocomplete="current-password"
          aria-invalid={wrong.value !== "" && !isCodeWrong.value}
          aria-describedby="login-help login-wrong"
        />
      </div>
      {needsCode.value && (
        <div>
          <label class="label" for="code">
            {t("login.code")}
          </label>
          <input
            id="code"
            ref={code}
            class="input mono"
            inputmode="numeric"
            autocomplete="one-time-code"
            aria-invalid={wrong.value !== "" && isCodeWrong.value}
            aria-describedby="code-help login-wrong"
          />
          <p class="quiet small" id="code-help">
            {t("login.codeHelp")}
          </p>
        </div>
      )}
      <p class="wrong" id="login-wrong" role="alert">
        {wrong}
      </p>
      <p class="quiet small" id="login-help">
        {t("login.help")}
      </p>
    </Entry>
  );
}

/** Signs in with a session of the upstream. @returns the reason of a failure; empty: signed in. */
async function opens(token: string, keep: boolean): Promise<string> {
  try {
    await signIn(token, { keep });
    return "";
  } catch (thrown) {
    // Ends a session without rights here.
    await logOut(token);
    const { kind, message } = failureOf(thrown);
    if (kind === "denied") return t("login.noAdmin");
    return kind === "offline" ? t("state.offline") : message;
  }
}

function wordsOf(result: Exclude<LoginResult, { kind: "in" }>): string {
  switch (result.kind) {
    case "wrong":
      return t("login.wrong");
    case "code":
      return t("login.wrongCode");
    case "locked":
      return t("login.locked");
    case "silent":
      return t("login.silent");
    default:
      return t("login.refused", { words: result.words });
  }
}
