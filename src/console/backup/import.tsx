import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type {
  ArchiveResult,
  RestoreBackupResponse,
} from "../../../gen/mooring/v1/backup_service_pb.js";
import { importDocument } from "../../client/backup-document.ts";
import { backupService } from "../api/backup.ts";
import { type Failure, failureOf, memberOf } from "../api/failure.ts";
import { asOwn, settings } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { Check, Field, ReasonField } from "../components/field.tsx";
import { mistakeOf } from "../components/json-mistake.ts";
import { Notice, Skeleton } from "../components/state.tsx";
import { useTask } from "../components/task.tsx";
import { t } from "../i18n/language.ts";
import { PendingSites } from "../records/record-form.tsx";
import { Effects } from "../records/results.tsx";
import { href } from "../shell/location.ts";
import { DropZone } from "./drop-zone.tsx";
import { countOf, OutcomeTable } from "./outcome-table.tsx";
import { Parts, RESTORED } from "./parts.tsx";
import { Passphrase } from "./passphrase.tsx";

/** Pause after a key press before the passphrase is tried, in milliseconds. */
const TRY_AFTER = 500;

interface Backup {
  readonly name: string;
  /** Undefined: a backup in the target of the service. */
  readonly document: JsonObject | undefined;
}

/** Choices of an import. */
interface Choices {
  readonly passphrase: string;
  readonly skipInvalid: boolean;
  readonly includeServerOwn: boolean;
  readonly pauseSites: boolean;
  readonly replaceSecrets: boolean;
  /** Parts; empty: all. */
  readonly only: readonly string[];
  /** Names of sites, and their mapping, as `siteChoice` reads them. */
  readonly sites: string;
}

const NO_CHOICES: Choices = {
  passphrase: "",
  skipInvalid: false,
  includeServerOwn: false,
  pauseSites: false,
  replaceSecrets: false,
  only: [],
  sites: "",
};

function requestOf({ name, document }: Backup, { sites, only, ...choices }: Choices) {
  return {
    ...(document ? { document } : { name }),
    ...choices,
    only: [...only],
    ...siteChoice(sites),
  };
}

/**
 * Imports an archive or a backup: a preview of each entry first, then the import, which can be
 * ended. The preview after that shows what is left.
 *
 * @param stored name of a backup in the target of the service.
 */
export function Import({ stored }: { readonly stored: Signal<string | undefined> }) {
  const backup = useSignal<Backup | undefined>(undefined);
  const choices = useSignal(NO_CHOICES);
  const unread = useSignal("");
  const done = useSignal<RestoreBackupResponse | undefined>(undefined);
  const section = useRef<HTMLElement>(null);
  const take = (chosen: Backup | undefined, problem: string): void => {
    done.value = undefined;
    unread.value = problem;
    backup.value = chosen;
  };
  useEffect(() => {
    const name = stored.value;
    if (name === undefined) return;
    take({ name, document: undefined }, "");
    section.current?.scrollIntoView({ block: "start" });
    section.current?.focus({ preventScroll: true });
    stored.value = undefined;
  }, [stored.value]);
  const read = async (file: File): Promise<void> => {
    const text = await file.text();
    const mistake = mistakeOf(text);
    if (mistake) {
      const { line, column } = mistake;
      return take(undefined, t("json.mistake", { line, column }));
    }
    const document = importDocument(JSON.parse(text) as JsonValue);
    take(document && { name: file.name, document }, document ? "" : t("import.noDocument"));
  };
  return (
    <section class="sheet block" aria-labelledby="import-title" ref={section} tabIndex={-1}>
      <div>
        <h2 id="import-title">{t("import.title")}</h2>
        <p class="quiet">{t("import.about")}</p>
      </div>
      <DropZone name={backup.value?.name} onFile={(file) => void read(file)} />
      <p class="wrong" role="alert">
        {unread}
      </p>
      {backup.value && (
        <ImportForm
          backup={backup.value}
          choices={choices}
          onDone={(reply) => {
            done.value = reply;
            backup.value = undefined;
            choices.value = {
              ...choices.peek(),
              passphrase: "",
              includeServerOwn: false,
              replaceSecrets: false,
            };
          }}
        />
      )}
      {done.value && <Done of={done.value} />}
    </section>
  );
}

/** Choices for a backup, its preview, and the import. */
function ImportForm(props: {
  readonly backup: Backup;
  readonly choices: Signal<Choices>;
  readonly onDone: (reply: RestoreBackupResponse) => void;
}) {
  const { backup, choices, onDone } = props;
  const reason = useSignal("");
  const attempts = useSignal(0);
  const { preview, failure } = usePreview(backup, choices.value, attempts.value);
  const task = useTask(async (signal) => {
    const request = { ...requestOf(backup, choices.peek()), reason: reason.peek().trim() };
    try {
      onDone(await asOwn(backupService.restoreBackup(request, { signal })));
    } catch (thrown) {
      // The preview shows what is left.
      attempts.value += 1;
      throw thrown;
    }
  });
  const changing = preview ? countOf(preview, "created") + countOf(preview, "changed") : 0;
  const effects = preview?.results.flatMap((result) => result.effects) ?? [];
  return (
    <form
      class="block-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (changing > 0) task.start();
      }}
    >
      <ChoiceFields choices={choices} />
      {failure && <Refusal failure={failure} />}
      {!preview && !failure && !task.busy && <Skeleton rows={2} />}
      {preview && <OutcomeTable result={preview} />}
      {effects.length > 0 && (
        <Notice kind="warning">
          <strong>{t("effect.title")}</strong>
          <Effects effects={effects} />
        </Notice>
      )}
      {preview && changing === 0 && <p class="quiet">{t("change.none")}</p>}
      {task.view}
      {changing > 0 && (
        <div class="commit">
          <ReasonField
            value={reason.value}
            onChange={(text) => {
              reason.value = text;
            }}
          />
          <Button kind="main" type="submit" disabled={task.busy}>
            {t("import.commit", { count: changing })}
          </Button>
        </div>
      )}
    </form>
  );
}

/**
 * Dry run of an import, again after each change here or of the choices.
 *
 * @param attempts number of failed imports; each one repeats it.
 */
function usePreview(backup: Backup, choices: Choices, attempts: number) {
  const preview = useSignal<RestoreBackupResponse | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  useEffect(() => {
    preview.value = undefined;
    failure.value = undefined;
    const leaving = new AbortController();
    const { signal } = leaving;
    const run = async (): Promise<void> => {
      try {
        const request = { ...requestOf(backup, choices), dryRun: true };
        preview.value = await backupService.restoreBackup(request, { signal });
      } catch (thrown) {
        if (!signal.aborted) failure.value = failureOf(thrown);
      }
    };
    const isTyped = choices.passphrase !== "" || choices.sites !== "";
    const timer = setTimeout(() => void run(), isTyped ? TRY_AFTER : 0);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [backup, choices, attempts, settings.value?.revision, preview, failure]);
  return { preview: preview.value, failure: failure.value };
}

const SWITCHES = ["skipInvalid", "includeServerOwn", "pauseSites", "replaceSecrets"] as const;

/** Fields for the choices of an import. */
function ChoiceFields({ choices }: { readonly choices: Signal<Choices> }) {
  const set = (change: Partial<Choices>): void => {
    choices.value = { ...choices.peek(), ...change };
  };
  const { passphrase, only, sites, ...switches } = choices.value;
  return (
    <>
      <Passphrase
        hint={t("import.passphraseHint")}
        autocomplete="off"
        value={passphrase}
        onChange={(text) => set({ passphrase: text })}
      />
      {SWITCHES.map((name) => (
        <Check
          key={name}
          label={t(`import.${name}`)}
          checked={switches[name]}
          onChange={(checked) => set({ [name]: checked })}
        />
      ))}
      <Parts among={RESTORED} chosen={only} onChange={(parts) => set({ only: parts })} />
      <Field
        label={t("import.sites")}
        hint={t("import.sitesHint")}
        wrong={undefined}
        value={sites}
        onChange={(text) => set({ sites: text })}
      />
    </>
  );
}

/** Results of an import. */
function Done({ of }: { readonly of: RestoreBackupResponse }) {
  return (
    <>
      <Notice kind="good">
        <span>
          {t("import.done")}{" "}
          <a href={href("history", { revision: String(of.revision) })}>
            {t("row.revision", { revision: String(of.revision) })}
          </a>
        </span>
      </Notice>
      <Passwords results={of.results} />
      <OutcomeTable result={of} />
      <PendingSites of={of.pendingSites} />
    </>
  );
}

/** Generated passwords of users that a restore has created on servers. */
function Passwords({ results }: { readonly results: readonly ArchiveResult[] }) {
  const made = results.filter(({ password }) => password !== "");
  if (made.length === 0) return null;
  return (
    <Notice kind="warning">
      <strong>{t("import.passwords")}</strong>
      <ul>
        {made.map(({ name, password }) => (
          <li key={name}>
            {name}: <code>{password}</code>
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** Reason for which a backup is rejected, with all invalid values. */
function Refusal({ failure }: { readonly failure: Failure }) {
  const { violations, message } = failure;
  return (
    <Notice kind="wrong">
      {violations.length === 0 ? (
        <span>{message || t("state.offline")}</span>
      ) : (
        <>
          <strong>{t("review.refused", { count: violations.length })}</strong>
          <ul>
            {violations.map(({ field, description }) => (
              <li key={field}>
                {memberOf(field)}: {description}
              </li>
            ))}
          </ul>
        </>
      )}
    </Notice>
  );
}

/** `OLD=NEW` maps the name of a site; other names choose the sites of mounts that name none. */
function siteChoice(text: string) {
  const texts = text.split(",").flatMap((each) => each.trim() || []);
  const pairs = texts.map((each) => each.split("=") as [string, string?]);
  const names = texts.filter((each) => !each.includes("="));
  const isWord = names.length === 1 && (names[0] === "all" || names[0] === "none");
  return {
    siteNames: Object.fromEntries(
      pairs.flatMap(([old, name]) => (old && name ? [[old, name]] : [])),
    ),
    ...(names.length > 0 && {
      sites: isWord ? { [names[0] ?? "all"]: true } : { names },
    }),
  };
}
