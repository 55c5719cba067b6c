import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type {
  ArchiveResult,
  RestoreBackupResponse,
} from "../../../gen/mooring/v1/backup_service_pb.js";
import type { PendingSite } from "../../../gen/mooring/v1/setting_pb.js";
import { importDocument } from "../../client/backup-document.ts";
import { backupService } from "../api/backup.ts";
import { type Failure, failureOf, memberOf } from "../api/failure.ts";
import { asOwn, settings } from "../api/live.ts";
import { Button, Icon } from "../components/button.tsx";
import { Check, Field, ReasonField } from "../components/field.tsx";
import { mistakeOf } from "../components/json-mistake.ts";
import { Notice } from "../components/state.tsx";
import { number, t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { Parts, partName, RESTORED } from "./parts.tsx";
import { Passphrase } from "./passphrase.tsx";

/** Pause after a key press before the passphrase is tried, in milliseconds. */
const TRY_AFTER = 500;

interface Backup {
  readonly name: string;
  /** Undefined: a backup in the target of the service. */
  readonly document: JsonObject | undefined;
}

/**
 * Imports an archive or a backup: a preview of each entry first, then the import.
 *
 * @param stored name of a backup in the target of the service.
 */
export function Import({ stored }: { readonly stored: Signal<string | undefined> }) {
  const backup = useSignal<Backup | undefined>(undefined);
  const passphrase = useSignal("");
  const skipInvalid = useSignal(false);
  const includeServerOwn = useSignal(false);
  const pauseSites = useSignal(false);
  const replaceSecrets = useSignal(false);
  const only = useSignal<readonly string[]>([]);
  const sites = useSignal("");
  const reason = useSignal("");
  const unread = useSignal("");
  const preview = useSignal<RestoreBackupResponse | undefined>(undefined);
  const done = useSignal<RestoreBackupResponse | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const busy = useSignal(false);
  const from = backup.value;
  const request = {
    ...(from?.document ? { document: from.document } : { name: from?.name ?? "" }),
    passphrase: passphrase.value,
    skipInvalid: skipInvalid.value,
    includeServerOwn: includeServerOwn.value,
    pauseSites: pauseSites.value,
    replaceSecrets: replaceSecrets.value,
    only: [...only.value],
    ...siteChoice(sites.value),
  };
  const choices = JSON.stringify([
    skipInvalid,
    includeServerOwn,
    pauseSites,
    replaceSecrets,
    only,
    sites,
  ]);

  useEffect(() => {
    preview.value = undefined;
    if (from === undefined || done.peek() !== undefined) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(
      () =>
        backupService.restoreBackup({ ...request, dryRun: true }, { signal }).then(
          (reply) => {
            preview.value = reply;
            failure.value = undefined;
          },
          (thrown: unknown) => {
            if (!signal.aborted) failure.value = failureOf(thrown);
          },
        ),
      passphrase.value === "" && sites.value === "" ? 0 : TRY_AFTER,
    );
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [from, passphrase.value, choices, settings.value?.revision]);

  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const name = stored.value;
    if (name === undefined) return;
    done.value = undefined;
    failure.value = undefined;
    unread.value = "";
    backup.value = { name, document: undefined };
    section.current?.scrollIntoView({ block: "start" });
    section.current?.focus({ preventScroll: true });
    stored.value = undefined;
  }, [stored.value]);

  const take = async (file: File): Promise<void> => {
    done.value = undefined;
    failure.value = undefined;
    const text = await file.text();
    const mistake = mistakeOf(text);
    const document = mistake ? undefined : importDocument(JSON.parse(text) as JsonValue);
    if (mistake) unread.value = t("json.mistake", { line: mistake.line, column: mistake.column });
    else unread.value = document === undefined ? t("import.noDocument") : "";
    backup.value = document && { name: file.name, document };
  };
  const commit = async (): Promise<void> => {
    busy.value = true;
    try {
      done.value = await asOwn(
        backupService.restoreBackup({ ...request, reason: reason.value.trim() }),
      );
      backup.value = undefined;
      passphrase.value = "";
      includeServerOwn.value = false;
      failure.value = undefined;
    } catch (thrown) {
      failure.value = failureOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  const changing = preview.value
    ? countOf(preview.value, "created") + countOf(preview.value, "changed")
    : 0;
  return (
    <section class="sheet block" aria-labelledby="import-title" ref={section} tabIndex={-1}>
      <div>
        <h2 id="import-title">{t("import.title")}</h2>
        <p class="quiet">{t("import.about")}</p>
      </div>
      <DropZone name={from?.name} onFile={(file) => void take(file)} />
      <p class="wrong" role="alert">
        {unread}
      </p>
      {from && (
        <form
          class="block-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (!busy.value && changing > 0) void commit();
          }}
        >
          <Passphrase hint={t("import.passphraseHint")} autocomplete="off" value={passphrase} />
          <Check
            label={t("import.skipInvalid")}
            checked={skipInvalid.value}
            onChange={(checked) => {
              skipInvalid.value = checked;
            }}
          />
          <Check
            label={t("import.includeServerOwn")}
            checked={includeServerOwn.value}
            onChange={(checked) => {
              includeServerOwn.value = checked;
            }}
          />
          <Check
            label={t("import.pauseSites")}
            checked={pauseSites.value}
            onChange={(checked) => {
              pauseSites.value = checked;
            }}
          />
          <Check
            label={t("import.replaceSecrets")}
            checked={replaceSecrets.value}
            onChange={(checked) => {
              replaceSecrets.value = checked;
            }}
          />
          <Parts among={RESTORED} chosen={only} />
          <Field
            label={t("import.sites")}
            hint={t("import.sitesHint")}
            wrong={undefined}
            value={sites.value}
            onChange={(text) => {
              sites.value = text;
            }}
          />
          <Refusal failure={failure.value} />
          {preview.value && <OutcomeTable result={preview.value} />}
          {preview.value && <Effects results={preview.value.results} />}
          {preview.value && changing === 0 && <p class="quiet">{t("change.none")}</p>}
          {changing > 0 && (
            <div class="commit">
              <ReasonField
                value={reason.value}
                onChange={(text) => {
                  reason.value = text;
                }}
              />
              <Button kind="main" type="submit" disabled={busy.value}>
                {t("import.commit", { count: changing })}
              </Button>
            </div>
          )}
        </form>
      )}
      {done.value && (
        <>
          <Notice kind="good">
            <span>
              {t("import.done")}{" "}
              <a href={href("history", { revision: String(done.value.revision) })}>
                {t("row.revision", { revision: String(done.value.revision) })}
              </a>
            </span>
          </Notice>
          <Passwords results={done.value.results} />
          <OutcomeTable result={done.value} />
          <Pending of={done.value.pendingSites} />
        </>
      )}
    </section>
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

/** Sites that do not get the change now. */
function Pending({ of }: { readonly of: readonly PendingSite[] }) {
  if (of.length === 0) return null;
  return (
    <Notice kind="warning">
      {t("import.pending")}
      <ul>
        {of.map(({ site, reason }) => (
          <li key={site}>
            {site}: {reason}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** Reason for which a backup is rejected, with all invalid values. */
function Refusal({ failure }: { readonly failure: Failure | undefined }) {
  if (failure === undefined) return null;
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

/** Input for one file, by drag and drop or selection. */
function DropZone(props: {
  /** Name of the accepted file. */
  readonly name: string | undefined;
  readonly onFile: (file: File) => void;
}) {
  const over = useSignal(false);
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (file !== undefined) props.onFile(file);
  };
  return (
    <label
      class={over.value ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => {
        over.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        take(event.dataTransfer?.files);
      }}
    >
      <Icon name="file" />
      <span>{props.name ?? t("import.drop")}</span>
      <input
        type="file"
        class="unseen"
        accept=".json,application/json"
        onChange={(event) => {
          take(event.currentTarget.files);
          // Allows choosing the same file again.
          event.currentTarget.value = "";
        }}
      />
    </label>
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

/** List of the effects of an import on running servers. */
function Effects({ results }: { readonly results: readonly ArchiveResult[] }) {
  const lines = results
    .flatMap(({ effects }) => effects)
    .map(({ action, site, path }) => {
      if (action === "follow") return t("import.effect.follow", { site });
      if (action === "remove") return t("import.effect.remove", { site, path });
      if (action === "disable") return t("import.effect.disable", { site, path });
      if (action === "remount") return t("import.effect.remount", { site, path });
      return t(action === "open" ? "import.effect.open" : "import.effect.change", { site, path });
    });
  if (lines.length === 0) return null;
  return (
    <Notice kind="warning">
      <strong>{t("import.effects")}</strong>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Notice>
  );
}

const ORDER = ["created", "changed", "skipped", "unchanged"] as const;

type Outcome = (typeof ORDER)[number];

/** Number of rows shown at first. */
const MOST = 200;

function countOf({ results }: RestoreBackupResponse, outcome: Outcome): number {
  return results.filter((one) => one.outcome === outcome).length;
}

/** Outcome, or preview, of each entry. Unchanged entries are hidden at first. */
function OutcomeTable({ result }: { readonly result: RestoreBackupResponse }) {
  const hidden = useSignal<readonly Outcome[]>(["unchanged"]);
  const toggle = (outcome: Outcome): void => {
    const rest = hidden.value.filter((one) => one !== outcome);
    hidden.value = rest.length < hidden.value.length ? rest : [...rest, outcome];
  };
  const rows = ORDER.filter((one) => !hidden.value.includes(one)).flatMap((one) =>
    result.results.flatMap((each) =>
      each.outcome === one
        ? [{ part: each.part, name: each.name, outcome: one, why: whyOf(each) }]
        : [],
    ),
  );
  const skipped = result.skipped.map(({ part, count, reason }) => ({
    part,
    name: number(count),
    outcome: "skipped" as const,
    why: reason,
  }));
  return (
    <div class="outcomes">
      <fieldset class="marks" aria-label={t("settings.filters")}>
        {ORDER.map((one) => (
          <Button key={one} aria-pressed={!hidden.value.includes(one)} onClick={() => toggle(one)}>
            {t(`outcome.${one}`)} <span class="tally">{number(countOf(result, one))}</span>
          </Button>
        ))}
      </fieldset>
      {rows.length + skipped.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
        <div class="table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t("backup.part")}</th>
                <th scope="col">{t("outcome.name")}</th>
                <th scope="col">{t("outcome.label")}</th>
                <th scope="col">{t("outcome.why")}</th>
              </tr>
            </thead>
            <tbody>
              {[...skipped, ...rows.slice(0, MOST)].map(({ part, name, outcome, why }) => (
                <tr key={`${part} ${name}`}>
                  <td>{partName(part)}</td>
                  <td>
                    <code>{name}</code>
                  </td>
                  <td>{t(`outcome.${outcome}`)}</td>
                  <td class="quiet">{why}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > MOST && (
        <p class="quiet small">{t("toast.more", { count: rows.length - MOST })}</p>
      )}
    </div>
  );
}

function whyOf({ note, missing, replacedSecrets, kept, newer }: ArchiveResult): string {
  const named = [
    ["outcome.missing", missing],
    ["import.replaced", replacedSecrets],
    ["import.kept", kept],
  ] as const;
  const lines = named.flatMap(([text, names]) =>
    names.length > 0 ? [t(text, { names: names.join(", ") })] : [],
  );
  return [note, ...lines, newer ? t("import.newer") : ""].filter((text) => text !== "").join("; ");
}
