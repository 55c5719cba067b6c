import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { failureOf } from "../api/failure.ts";
import { type LoginResult, logIn, loginAddress, logOut } from "../api/login.ts";
import { enter as signIn } from "../api/rights.ts";
import { ended, sharesOrigin } from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { Logo, Looks } from "../shell/menu.tsx";
import "../components/field.css";
import "./page.css";

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

/** Form for a login at the upstream, with a one-time code on request. */
function LoginForm() {
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

interface EntryProps {
  /** Signs in, or shows the problem at the fields. @param keep as for `signIn`. */
  readonly onEnter: (keep: boolean) => Promise<void>;
  /** Initial choice. */
  readonly isKept: boolean;
  readonly children: ComponentChildren;
}

/** Form around the fields of a sign-in. Only one submission runs at a time. */
function Entry({ onEnter, isKept, children }: EntryProps) {
  const busy = useSignal(false);
  const keep = useSignal(isKept);
  const enter = async (): Promise<void> => {
    if (busy.value) return;
    busy.value = true;
    try {
      await onEnter(keep.value);
    } finally {
      busy.value = false;
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void enter();
      }}
    >
      <h1>
        <Logo /> Mooring
      </h1>
      {ended.value === "tokenEnded" && <Notice kind="warning">{t("signIn.tokenEnded")}</Notice>}
      {children}
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
  );
}
