import { useEffect } from "preact/hooks";
import { loadMaker, makers } from "../api/revision.ts";
import { Button } from "../components/button.tsx";
import { TextDiff } from "../components/text-diff.tsx";
import { t } from "../i18n/language.ts";
import { type Conflict, discard, keepMine } from "./edit.ts";
import "./conflict.css";

/**
 * Conflict of an edit: the original value, the other client's value and the edit, with the choices.
 */
export function ConflictBox({ conflict }: { readonly conflict: Conflict }) {
  const { key, edit, theirs } = conflict;
  const revision = theirs?.revision ?? 0n;
  useEffect(() => {
    if (revision > 0n) void loadMaker(revision);
  }, [revision]);
  const actor = makers.value.get(revision)?.actor;
  const gone = theirs === undefined;
  const secret = edit.base.secret;
  return (
    <section class="conflict" aria-label={t("conflict.title", { key })}>
      <p>
        <strong>
          {gone
            ? t("conflict.gone")
            : t("conflict.changed", { actor: actor ?? t("actor.unknown") })}
        </strong>
      </p>
      {!secret && (
        <dl>
          <dt>{t("conflict.base")}</dt>
          <dd>
            <Shown value={edit.base.value} />
          </dd>
          <dt>{t("conflict.theirs")}</dt>
          <dd>{gone ? "—" : <TextDiff from={edit.base.value} to={theirs.value} />}</dd>
          <dt>{t("conflict.mine")}</dt>
          <dd>
            <TextDiff from={edit.base.value} to={edit.mine} />
          </dd>
        </dl>
      )}
      <p class="ways">
        <Button onClick={() => keepMine(conflict)}>{t("conflict.keepMine")}</Button>
        <Button onClick={() => discard([key])}>
          {t(gone ? "conflict.leaveGone" : "conflict.takeTheirs")}
        </Button>
      </p>
    </section>
  );
}

function Shown({ value }: { readonly value: string }) {
  return value === "" ? <span class="quiet">{t("value.empty")}</span> : <pre>{value}</pre>;
}
