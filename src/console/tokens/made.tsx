import { CopyButton } from "../components/copy.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";

/** A new token's text: here, now and never again. */
export function MadeToken({ id, secret }: { readonly id: string; readonly secret: string }) {
  return (
    <section class="sheet block" aria-label={t("token.text")}>
      <Notice kind="warning">{t("token.once")}</Notice>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is chosen and copied by keyboard as well. */}
      <p class="input mono made" tabIndex={0} data-secret>
        {secret}
      </p>
      <p class="ways">
        <CopyButton text={secret} />
        <a class="button main" href={href("tokens", { q: id })}>
          {t("token.kept")}
        </a>
      </p>
    </section>
  );
}
