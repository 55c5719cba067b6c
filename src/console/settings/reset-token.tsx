import { useSignal } from "@preact/signals";
import { settingService } from "../api/client.ts";
import { asOwn } from "../api/live.ts";
import { changeToken, holdSession } from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Dialog, DialogButton } from "../components/dialog.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";

/** Replaces the admin token after a confirmation, because the old one can't be restored. */
export function ResetToken() {
  return (
    <DialogButton
      icon="reset"
      label={t("token.reset")}
      dialog={(close) => <ResetDialog onClose={close} />}
    />
  );
}

function ResetDialog({ onClose }: { readonly onClose: () => void }) {
  const made = useSignal("");
  const { busy, problem, run } = useAction();
  const reset = () =>
    run(async () => {
      // The service ends the old token's streams before it answers.
      const release = holdSession();
      try {
        const { token } = await asOwn(settingService.resetToken({}));
        changeToken(token);
        made.value = token;
      } finally {
        release();
      }
    });
  if (made.value !== "")
    return (
      <Dialog title={t("token.reset")} onClose={onClose}>
        <p>{t("token.made")}</p>
        <p class="input mono" data-token>
          {made}
        </p>
        <div class="actions">
          <CopyButton text={made.value} />
          <Button kind="main" onClick={onClose}>
            {t("action.close")}
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={t("token.reset")} onClose={onClose}>
      <p>{t("token.question")}</p>
      {problem !== "" && (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
      <div class="actions">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button kind="danger" disabled={busy} onClick={() => void reset()}>
          {t("token.resetNow")}
        </Button>
      </div>
    </Dialog>
  );
}
