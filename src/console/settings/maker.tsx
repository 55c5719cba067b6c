import { useEffect } from "preact/hooks";
import { loadMaker, makers } from "../api/revision.ts";
import { may } from "../api/rights.ts";
import { Around } from "../components/around.tsx";
import { When } from "../components/when.tsx";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";

/** Actor and time of a setting's last change, with a link to its history. */
export function LastChange({ of, revision }: { readonly of: string; readonly revision: bigint }) {
  useEffect(() => void loadMaker(revision), [revision]);
  const maker = makers.value.get(revision);
  const nth = t("row.revision", { revision: String(revision) });
  if (!may("history:read")) return <span class="quiet">{nth}</span>;
  return (
    <a class="quiet" href={href("history", { key: of })}>
      {maker && (
        <>
          <Around text={t("row.changed", { actor: maker.actor })}>
            <When time={maker.time} />
          </Around>
          {" · "}
        </>
      )}
      {nth}
    </a>
  );
}
