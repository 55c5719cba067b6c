import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ended } from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { Logo } from "../shell/menu.tsx";

interface EntryProps {
  /** Signs in, or shows the problem at the fields. @param keep as for `signIn`. */
  readonly onEnter: (keep: boolean) => Promise<void>;
  /** Initial choice. */
  readonly isKept: boolean;
  readonly children: ComponentChildren;
}

/** Form around the fields of a sign-in. Only one submission runs at a time. */
export function Entry({ onEnter, isKept, children }: EntryProps) {
  const { busy, run } = useAction();
  const keep = useSignal(isKept);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => onEnter(keep.value));
      }}
    >
      <h1>
        <Logo /> Mooring
      </h1>
      {ended.value === "tokenEnded" && <Notice kind="warning">{t("signIn.tokenEnded")}</Notice>}
      {ended.value === "inOtherTab" && <Notice kind="warning">{t("signIn.inOtherTab")}</Notice>}
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
      <Button kind="main" type="submit" disabled={busy}>
        {t("signIn.enter")}
      </Button>
    </form>
  );
}
