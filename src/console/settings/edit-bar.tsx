import { Button } from "../components/button.tsx";
import { t } from "../i18n/language.ts";
import { go, href } from "../shell/location.ts";
import { conflicts, discard, edits, violations } from "./edit.ts";
import "./edit-bar.css";

/** Number of pending edits, with their actions. */
export function EditBar() {
  const count = edits.value.size;
  if (count === 0) return null;
  const wrong = violations.value.size;
  const others = conflicts.value.length;
  return (
    <section class="edit-bar" aria-label={t("edits.title")}>
      <p role="status">
        <strong>{t("edits.count", { count })}</strong>
        {wrong > 0 && <span class="refused"> · {t("edits.wrong", { count: wrong })}</span>}
        {others > 0 && <span class="contested"> · {t("edits.conflicts", { count: others })}</span>}
      </p>
      <Button onClick={() => discard([...edits.peek().keys()])}>{t("edits.discard")}</Button>
      <Button kind="main" onClick={() => go(href("review"))}>
        {t("edits.review")}
      </Button>
    </section>
  );
}
