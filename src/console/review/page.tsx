import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { PendingSite, SettingChange } from "../../../gen/mooring/v1/setting_pb.js";
import { settingService } from "../api/client.ts";
import type { Failure } from "../api/failure.ts";
import { settings } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { ChangeList } from "../components/change-list.tsx";
import { ReasonField } from "../components/field.tsx";
import { Empty, Failed, Notice, Skeleton } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { settingsTexts } from "../i18n/en/settings.ts";
import { addMessages, t } from "../i18n/language.ts";
import { ConflictBox } from "../settings/conflict.tsx";
import { conflicts, discard, edits, violations } from "../settings/edit.ts";
import { labelOf } from "../settings/label.ts";
import { preview, save } from "../settings/save.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { say } from "../shell/toast.tsx";

addMessages(pagesTexts, settingsTexts);

/** Preview of all edits by the service, before they are saved with a reason. */
export default function ReviewPage() {
  const count = edits.value.size;
  return (
    <>
      <PageHead title={t("page.review")}>
        {count > 0 && (
          <a class="button" href={href("settings")}>
            {t("review.back")}
          </a>
        )}
      </PageHead>
      {count > 0 ? (
        <Review />
      ) : (
        <Empty icon="done" title={t("review.nothing")}>
          <a href={href("settings")}>{t("page.settings")}</a>
        </Empty>
      )}
    </>
  );
}

function Review() {
  const changes = useSignal<readonly SettingChange[] | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  /** Failure of the last save, shown until the next save. */
  const refused = useSignal<Failure | undefined>(undefined);
  const reason = useSignal("");
  const { busy, run } = useAction();
  const of = edits.value;
  const isContested = conflicts.value.length > 0;
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
    if (!isContested && !busy) void readNewest();
  }, [of, isContested, revision]);

  const commit = () =>
    run(async ({ go }) => {
      failure.value = undefined;
      refused.value = undefined;
      try {
        const { revision, pendingSites } = await save(of, reason.value.trim());
        say(savedText(of.size, revision, pendingSites));
        go(href("settings"));
      } catch (thrown) {
        const why = thrown as Failure;
        if (why.kind === "other") refused.value = why;
        else await refuse(why);
      }
    });
  const isBlocked = busy || isContested || violations.value.size > 0;
  return (
    <>
      <Conflicts />
      <Violations />
      {refused.value && <Failed failure={refused.value} />}
      {failure.value && failure.value.violations.length === 0 && !isContested && (
        <Failed failure={failure.value} retry={() => void readNewest()} />
      )}
      {!isContested && violations.value.size === 0 && !failure.value && (
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
          if (!isBlocked) void commit();
        }}
      >
        <ReasonField value={reason.value} onChange={(text) => (reason.value = text)} />
        <Button kind="main" type="submit" disabled={isBlocked}>
          {busy ? t("review.saving") : t("review.save", { count: of.size })}
        </Button>
      </form>
    </>
  );
}

/** Message about a save, with the sites that get it later. */
function savedText(count: number, revision: bigint, pendingSites: readonly PendingSite[]): string {
  const saved = t("review.saved", { count, revision: String(revision) });
  const pending = pendingSites.map(({ site, reason }) => t("review.pending", { site, reason }));
  return [saved, ...pending].join(" ");
}

/** Settings that another client has changed, with the ways to resolve each. */
function Conflicts() {
  const contested = conflicts.value;
  if (contested.length === 0) return null;
  return (
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
