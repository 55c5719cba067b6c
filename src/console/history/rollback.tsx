import { useSignal } from "@preact/signals";
import type { RollbackResponse } from "../../../gen/mooring/v1/setting_service_pb.js";
import { settingService } from "../api/client.ts";
import { asOwn, settings } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { ChangeList } from "../components/change-list.tsx";
import { ReasonField } from "../components/field.tsx";
import { Failed, Notice, Skeleton } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { Effects } from "../records/results.tsx";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { say } from "../shell/toast.tsx";

/**
 * Preview of a rollback, with what it cannot restore and its effects on running servers; then the
 * rollback.
 *
 * @param only entries as in the request; empty: everything.
 */
export function RollbackPreview(props: { readonly to: bigint; readonly only: readonly string[] }) {
  const { to } = props;
  const only = useSignal<readonly string[]>(props.only);
  const reason = useSignal("");
  const { busy, failure: refusal, run } = useAction();
  const newest = settings.value?.revision;
  const { data, failure, again } = useCall(
    (signal) => settingService.rollback({ to, only: [...only.peek()], dryRun: true }, { signal }),
    [to, only.value, newest],
  );
  const leaveOut = (key: string): void => {
    if (data) only.value = entriesOf(data).filter((entry) => entry !== entryOf(data, key));
  };
  const commit = (shown: RollbackResponse) =>
    run(async ({ go }) => {
      const request = {
        to,
        only: entriesOf(shown),
        // The rollback is made exactly as shown, or not at all.
        expectedEtag: shown.etag,
        reason: reason.value.trim(),
      };
      const { revision } = await asOwn(settingService.rollback(request));
      say(t("history.wentBack", { to: String(to), revision: String(revision) }));
      go(href("history", { revision: String(revision) }));
    }, again);
  const left = data?.results.filter(
    ({ outcome, notRestored }) => outcome === "skipped" || notRestored.length > 0,
  );
  const effects = data?.results.flatMap((result) => result.effects) ?? [];
  const count = data?.changes.length ?? 0;
  return (
    <>
      <PageHead title={t("history.backTo", { revision: String(to) })}>
        <a class="button" href={href("history")}>
          {t("page.history")}
        </a>
      </PageHead>
      {failure && <Failed failure={failure} retry={again} />}
      {refusal && <Notice kind="wrong">{refusal.message || t("state.offline")}</Notice>}
      {!data && !failure && <Skeleton rows={3} />}
      {left && left.length > 0 && (
        <Notice kind="warning">
          <strong>{t("history.skipped", { count: left.length })}</strong>
          <ul>
            {left.map(({ key, note }) => (
              <li key={key}>
                <code>{key}</code>: {note}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {effects.length > 0 && (
        <Notice kind="warning">
          <strong>{t("effect.title")}</strong>
          <Effects effects={effects} />
        </Notice>
      )}
      {data && (
        <>
          <section class="sheet" aria-label={t("review.difference")}>
            <ChangeList changes={data.changes} {...(count > 1 ? { undo: leaveOut } : {})} />
          </section>
          {count > 0 && (
            <form
              class="commit"
              onSubmit={(event) => {
                event.preventDefault();
                void commit(data);
              }}
            >
              <ReasonField
                value={reason.value}
                onChange={(text) => {
                  reason.value = text;
                }}
              />
              <Button kind="main" type="submit" disabled={busy}>
                {t("history.goBack", { count })}
              </Button>
            </form>
          )}
        </>
      )}
    </>
  );
}

/** Entries of a request for the shown changes, and no others. */
function entriesOf(data: RollbackResponse): string[] {
  return data.changes.map(({ key }) => entryOf(data, key));
}

/** Entry of a request for one record: a setting and a mount may have the same name. */
function entryOf({ results }: RollbackResponse, key: string): string {
  const kind = results.find((result) => result.key === key)?.kind;
  return kind === "setting" ? `setting:${key}` : key;
}
