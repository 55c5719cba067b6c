import { useSignal } from "@preact/signals";
import { settingService } from "../api/client.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { asOwn, settings } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { ChangeList } from "../components/change-list.tsx";
import { ReasonField } from "../components/field.tsx";
import { Failed, Notice, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { go, href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { say } from "../shell/toast.tsx";

/** Preview of a rollback, with the parts that it cannot restore; then the rollback. */
export function RollbackPreview(props: { readonly to: bigint; readonly keys: readonly string[] }) {
  const { to } = props;
  const keys = useSignal<readonly string[]>(props.keys);
  const reason = useSignal("");
  const wrong = useSignal<Failure | undefined>(undefined);
  const busy = useSignal(false);
  const newest = settings.value?.revision;
  const { data, failure, again } = useCall(
    (signal) => settingService.rollback({ to, keys: [...keys.peek()], dryRun: true }, { signal }),
    [to, keys.value, newest],
  );
  const leaveOut = (key: string): void => {
    const shown = data?.changes.map((change) => change.key) ?? [];
    keys.value = shown.filter((one) => one !== key);
  };
  const commit = async (): Promise<void> => {
    if (!data) return;
    busy.value = true;
    try {
      const { revision } = await asOwn(
        settingService.rollback({
          to,
          keys: data.changes.map(({ key }) => key),
          // The rollback is made exactly as shown, or not at all.
          expectedRevision: data.revision,
          reason: reason.value.trim(),
        }),
      );
      say(t("history.wentBack", { to: String(to), revision: String(revision) }));
      go(href("history", { revision: String(revision) }));
    } catch (thrown) {
      wrong.value = failureOf(thrown);
      again();
    } finally {
      busy.value = false;
    }
  };
  const count = data?.changes.length ?? 0;
  return (
    <>
      <PageHead title={t("history.backTo", { revision: String(to) })}>
        <a class="button" href={href("history")}>
          {t("page.history")}
        </a>
      </PageHead>
      {failure && <Failed failure={failure} retry={again} />}
      {wrong.value && <Notice kind="wrong">{wrong.value.message || t("state.offline")}</Notice>}
      {!data && !failure && <Skeleton rows={3} />}
      {data && data.skipped.length > 0 && (
        <Notice kind="warning">
          <strong>{t("history.skipped", { count: data.skipped.length })}</strong>
          <ul>
            {data.skipped.map(({ key, reason }) => (
              <li key={key}>
                <code>{key}</code>: {reason}
              </li>
            ))}
          </ul>
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
                if (!busy.value) void commit();
              }}
            >
              <ReasonField
                value={reason.value}
                onChange={(text) => {
                  reason.value = text;
                }}
              />
              <Button kind="main" type="submit" disabled={busy.value}>
                {t("history.goBack", { count })}
              </Button>
            </form>
          )}
        </>
      )}
    </>
  );
}
