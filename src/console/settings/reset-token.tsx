import { useState } from "preact/hooks";
import { settingService } from "../api/client.ts";
import { problemOf } from "../api/failure.ts";
import { asOwn } from "../api/live.ts";
import { changeToken, holdSession } from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { t } from "../i18n/language.ts";

/** Replaces the admin token after a confirmation, because the old one can't be restored. */
export function ResetToken() {
  const [asked, ask] = useState(false);
  const [made, setMade] = useState<string>();
  const [failure, setFailure] = useState("");
  const reset = async (): Promise<void> => {
    // The service ends the old token's streams before it answers.
    const release = holdSession();
    try {
      const { token } = await asOwn(settingService.resetToken({}));
      changeToken(token);
      setMade(token);
    } catch (thrown) {
      setFailure(problemOf(thrown));
    } finally {
      release();
    }
  };
  const open = (): void => {
    setMade(undefined);
    setFailure("");
    ask(true);
  };
  return (
    <>
      <Button icon="reset" onClick={open}>
        {t("token.reset")}
      </Button>
      {asked && (
        <Dialog title={t("token.reset")} onClose={() => ask(false)}>
          {made === undefined ? (
            <>
              <p>{t("token.question")}</p>
              {failure !== "" && (
                <p class="wrong" role="alert">
                  {failure}
                </p>
              )}
              <div class="actions">
                <Button onClick={() => ask(false)}>{t("action.cancel")}</Button>
                <Button kind="danger" onClick={() => void reset()}>
                  {t("token.resetNow")}
                </Button>
              </div>
            </>
          ) : (
            <>
              <p>{t("token.made")}</p>
              <p class="input mono" data-token>
                {made}
              </p>
              <div class="actions">
                <CopyButton text={made} />
                <Button kind="main" onClick={() => ask(false)}>
                  {t("action.close")}
                </Button>
              </div>
            </>
          )}
        </Dialog>
      )}
    </>
  );
}
