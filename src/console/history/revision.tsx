import { timestampMs } from "@bufbuild/protobuf/wkt";
import { settingService } from "../api/client.ts";
import { settings } from "../api/live.ts";
import { may } from "../api/rights.ts";
import { ChangeList } from "../components/change-list.tsx";
import { Failed, Skeleton } from "../components/state.tsx";
import { Fact } from "../components/text.tsx";
import { useCall } from "../components/use-call.ts";
import { dateTime } from "../i18n/format.ts";
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

/** Revision with its changes and its origin. */
export function OneRevision({ revision }: { readonly revision: bigint }) {
  const { data, failure, again } = useCall(
    (signal) => settingService.getRevision({ revision }, { signal }),
    [revision],
  );
  const title = t("history.revision", { revision: String(revision) });
  const newest = settings.value?.revision ?? revision;
  const of = data?.revision;
  return (
    <>
      <PageHead title={title}>
        <div class="ways">
          <a class="button" href={href("history")}>
            {t("page.history")}
          </a>
          {data && revision < newest && (
            <a
              class="button"
              href={href("history", { from: String(revision), to: String(newest) })}
            >
              {t("history.compareNow")}
            </a>
          )}
          {data && revision > 1n && may("history:rollback") && (
            <a class="button" href={href("history", { back: String(revision - 1n) })}>
              {t("history.undoTo", { revision: String(revision - 1n) })}
            </a>
          )}
        </div>
      </PageHead>
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={3} />}
      {of && (
        <>
          <dl class="facts">
            <Fact name={t("history.time")}>{of.time && dateTime(timestampMs(of.time))}</Fact>
            <Fact name={t("history.actor")}>{of.actor}</Fact>
            <Fact name={t("history.source")}>{`${of.transport} · ${of.method}`}</Fact>
            <Fact name={t("history.peer")}>{of.peer}</Fact>
            <Fact name={t("state.request")}>{of.requestId}</Fact>
            <Fact name={t("reason.label")}>{of.reason}</Fact>
          </dl>
          <section class="sheet" aria-label={t("review.difference")}>
            <ChangeList changes={data.changes} />
          </section>
        </>
      )}
    </>
  );
}
