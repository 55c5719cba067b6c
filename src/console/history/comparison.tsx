import { settingService } from "../api/client.ts";
import { may } from "../api/rights.ts";
import { ChangeList } from "../components/change-list.tsx";
import { Failed, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";

/** Difference between two revisions, as one change. */
export function Comparison({ from, to }: { readonly from: bigint; readonly to: bigint }) {
  const { data, failure, again } = useCall(
    (signal) => settingService.diffRevisions({ from, to }, { signal }),
    [from, to],
  );
  const names = { from: String(from), to: String(to) };
  return (
    <>
      <PageHead title={t("history.between", names)}>
        <div class="ways">
          <a class="button" href={href("history")}>
            {t("page.history")}
          </a>
          <a class="button" href={href("history", { from: names.to, to: names.from })}>
            {t("history.swap")}
          </a>
          {may("history:rollback") && (
            <a class="button" href={href("history", { back: names.from })}>
              {t("history.undoTo", { revision: names.from })}
            </a>
          )}
        </div>
      </PageHead>
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={3} />}
      {data && (
        <section class="sheet" aria-label={t("review.difference")}>
          <ChangeList changes={data.changes} />
        </section>
      )}
    </>
  );
}
