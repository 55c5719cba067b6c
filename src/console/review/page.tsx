import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SettingChange } from "../../../gen/mooring/v1/setting_pb.js";
import { settingService } from "../api/client.ts";
import type { Failure } from "../api/failure.ts";
import { settings } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { ChangeList } from "../components/change-list.tsx";
import { ReasonField } from "../components/field.tsx";
import { Empty, Failed, Notice, Skeleton } from "../components/state.tsx";
import { pagesTexts } from "../i18n/en/pages.ts";
import { settingsTexts } from "../i18n/en/settings.ts";
import { addMessages, t } from "../i18n/language.ts";
import { ConflictBox } from "../settings/conflict.tsx";
import { conflicts, discard, edits, violations } from "../settings/edit.ts";
import { labelOf } from "../settings/label.ts";
import { preview, save } from "../settings/save.ts";
import { go, href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { say } from "../shell/toast.tsx";

addMessages(pagesTexts, settingsTexts);

/** Preview of all edits by the service, before they are saved with a reason. */
export default function ReviewPage() {
  const changes = useSignal<readonly SettingChange[] | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  /** Failure of the last save, shown until the next save. */
  const refused = useSignal<Failure | undefined>(undefined);
  const saving = useSignal(false);
  const reason = useSignal("");
  const of = edits.value;
  const contested = conflicts.value;
  const revision = useComputed(() => settings.value?.revision).value;

  const readNewest = async (): Promise<void> => {
    failure.value = undefined;
    try {
      changes.value = await preview(of);
    } catch (thrown) {
      await refuse(thrown as Failure);
    }
  };
  const refuse = async (why: Failure): Promise<void> => {
    failure.value = why;
    // The other client's change is visible after the settings are read again.
    if (why.kind === "conflict") await catchUp();
  };
  useEffect(() => {
    if (of.size > 0 && contested.length === 0 && !saving.peek()) void readNewest();
  }, [of, contested.length, revision]);

  const commit = async (): Promise<void> => {
    saving.value = true;
    failure.value = undefined;
    refused.value = undefined;
    const count = of.size;
    try {
      const { revision, pendingSites } = await save(of, reason.value.trim());
      const pending = pendingSites.map(({ site, reason: why }) =>
        t("review.pending", { site, reason: why }),
      );
      say([t("review.saved", { count, revision: String(revision) }), ...pending].join(" "));
      go(href("settings"));
    } catch (thrown) {
      const why = thrown as Failure;
      if (why.kind === "other") refused.value = why;
      else await refuse(why);
    } finally {
      saving.value = false;
    }
  };

  if (of.size === 0)
    return (
      <>
        <PageHead title={t("page.review")} />
        <Empty icon="done" title={t("review.nothing")}>
          <a href={href("settings")}>{t("page.settings")}</a>
        </Empty>
      </>
    );
  const blocked = saving.value || contested.length > 0 || violations.value.size > 0;
  return (
    <>
      <PageHead title={t("page.review")}>
        <a class="button" href={href("settings")}>
          {t("review.back")}
        </a>
      </PageHead>
      {contested.length > 0 && (
        <section class="sheet block">
          <h2>{t("review.conflicts", { count: contested.length })}</h2>
          {contested.map((conflict) => (
            <div key={conflict.key}>
              <h3>
                {labelOf(conflict)} <code class="quiet">{conflict.key}</code>
              </h3>
              <ConflictBox conflict={conflict} />
            </div>
          ))}
        </section>
      )}
      <Violations />
      {refused.value && <Failed failure={refused.value} />}
      {failure.value && failure.value.violations.length === 0 && contested.length === 0 && (
        <Failed failure={failure.value} retry={() => void readNewest()} />
      )}
      {contested.length === 0 && violations.value.size === 0 && !failure.value && (
        <section class="sheet" aria-label={t("review.difference")}>
          {changes.value === undefined ? (
            <Skeleton rows={of.size} />
          ) : (
            <ChangeList changes={changes.value} undo={(key) => discard([key])} />
          )}
        </section>
      )}
      <form
        class="commit"
        onSubmit={(event) => {
          event.preventDefault();
          if (!blocked) void commit();
        }}
      >
        <ReasonField value={reason.value} onChange={(text) => (reason.value = text)} />
        <Button kind="main" type="submit" disabled={blocked}>
          {saving.value ? t("review.saving") : t("review.save", { count: of.size })}
        </Button>
      </form>
    </>
  );
}

/** Values that the service rejects, with links to their fields. */
function Violations() {
  const wrong = [...violations.value];
  if (wrong.length === 0) return null;
  return (
    <Notice kind="wrong">
      <strong>{t("review.refused", { count: wrong.length })}</strong>
      <ul>
        {wrong.map(([key, description]) => (
          <li key={key}>
            <a href={href("settings", { key })}>{key}</a>: {description}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** Reads the edited settings, whose events may not have arrived yet. */
async function catchUp(): Promise<void> {
  const keys = [...edits.peek().keys()];
  const known = settings.peek();
  const read = await settingService
    .batchGetSettings({ keys, maskSecrets: true })
    .catch(() => undefined);
  if (read === undefined || known === undefined) return;
  const byKey = new Map(known.byKey);
  for (const setting of read.settings) byKey.set(setting.key, setting);
  settings.value = { ...known, byKey };
}
