import { useSignal } from "@preact/signals";
import type { RecordResult } from "../../../gen/mooring/v1/effect_pb.js";
import type { Site } from "../../../gen/mooring/v1/site_pb.js";
import { type Failure, memberOf } from "../api/failure.ts";
import { settings } from "../api/live.ts";
import { siteService } from "../api/sites.ts";
import { Field } from "../components/field.tsx";
import { useKeptDraft } from "../components/kept-draft.tsx";
import { Pairs } from "../components/pairs.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { useNewerState } from "../records/outdated.tsx";
import { RecordDialog } from "../records/record-dialog.tsx";
import { Results } from "../records/results.tsx";
import { href } from "../shell/location.ts";
import {
  changesOf,
  draftOf,
  inputOf,
  readDraft,
  rebased,
  type SiteDraft,
  type SiteTexts,
  writeDraft,
} from "./input.ts";

/** Time limit in milliseconds: a site may be slow. */
const PATIENCE = 180_000;

/**
 * Dialog for a new site, which is read first, or for changes of a site. Changes with effects on
 * mounts of the server are shown before they are made.
 *
 * @param props.site as last received; undefined: a new one.
 */
export function SiteForm(props: { readonly site?: Site; readonly onClose: () => void }) {
  const { site } = props;
  const kept = useKeptDraft({
    name: site ? `site:${site.name}` : "site-new",
    initial: () => draftOf(site),
    changes: changesOf,
    write: (draft: SiteDraft) => writeDraft(draft, isOpenSetting),
    read: readDraft,
  });
  const { draft } = kept;
  const newer = useNewerState(site, kept, { draftOf, rebased, changes: changesOf });
  const { busy, failure, run } = useAction();
  /** Results of a dry run that wait for a confirmation. */
  const plan = useSignal<Plan | undefined>(undefined);
  const planned = plan.value?.of === draft.value ? plan.value.results : [];
  const set = (change: Partial<SiteTexts>): void => {
    const { base, texts } = draft.peek();
    draft.value = { base, texts: { ...texts, ...change } };
  };
  const save = () =>
    run(async ({ go }) => {
      const results = await send(draft.value, planned.length > 0);
      if (results.length > 0) {
        plan.value = { of: draft.value, results };
        return;
      }
      kept.forget();
      go(href("sites", { name: draft.value.texts.name.trim() }), props.onClose);
    });
  const title = site === undefined ? t("sites.add") : t("site.editTitle", { name: site.name });
  return (
    <RecordDialog
      title={title}
      kept={kept}
      newer={newer}
      busy={busy}
      label={planned.length > 0 ? t("site.saveAnyway") : site ? t("site.save") : title}
      onSave={() => void save()}
      onClose={props.onClose}
    >
      <SiteFields draft={draft.value} failure={failure} set={set} />
      {planned.length > 0 && (
        <Notice kind="warning">
          <strong>{t("effect.title")}</strong>
          <Results results={planned} />
        </Notice>
      )}
    </RecordDialog>
  );
}

/** Effects of a change of a site that must be confirmed. */
interface Plan {
  /** Inputs of the dry run. */
  readonly of: SiteDraft;
  readonly results: readonly RecordResult[];
}

/** Reports whether a setting is known and not secret. */
function isOpenSetting(key: string): boolean {
  return settings.peek()?.byKey.get(key)?.secret === false;
}

/**
 * Creates or changes the site.
 *
 * @returns the effects on its server that must be confirmed first; empty: it is done.
 */
async function send(draft: SiteDraft, isConfirmed: boolean): Promise<readonly RecordResult[]> {
  const site = inputOf(draft);
  const call = { timeoutMs: PATIENCE };
  if (draft.base === undefined) {
    await siteService.createSite({ site }, call);
    return [];
  }
  const request = { name: draft.base.name, site, expectedEtag: draft.base.etag };
  if (!isConfirmed) {
    const { records } = await siteService.updateSite({ ...request, dryRun: true }, call);
    const affected = records.filter(({ effects }) => effects.length > 0);
    if (affected.length > 0) return affected;
  }
  await siteService.updateSite(request, call);
  return [];
}

const HINTS = {
  name: undefined,
  url: undefined,
  ca: "site.caHint",
  certificateSha256: "site.pinHint",
  include: "site.includeHint",
  exclude: "site.excludeHint",
} as const;

/** Members with a field in the form. */
const KNOWN = new Set([...Object.keys(HINTS), "token", "overrides"]);

/** Member of the form that a violation is about: `site.certificate_sha256`, `overrides.KEY`. */
function fieldOf(field: string): string {
  const [, name = ""] = /^(?:site\.)?(\w+)/.exec(field) ?? [];
  return name === "certificate_sha256" ? "certificateSha256" : name;
}

/** Fields of a site with their problems. */
function SiteFields(props: {
  readonly draft: SiteDraft;
  readonly failure: Failure | undefined;
  readonly set: (change: Partial<SiteTexts>) => void;
}) {
  const { failure, set } = props;
  const { base, texts } = props.draft;
  const violations = failure?.violations ?? [];
  const wrong = new Map(violations.map(({ field, description }) => [fieldOf(field), description]));
  const rest = violations.filter(({ field }) => !KNOWN.has(fieldOf(field)));
  const field = (name: keyof typeof HINTS, lines = false) => {
    const hint = HINTS[name];
    return (
      <Field
        label={t(`sites.${name}`)}
        hint={hint === undefined ? "" : t(hint)}
        wrong={wrong.get(name)}
        value={texts[name]}
        lines={lines}
        onChange={(text) => set({ [name]: text })}
      />
    );
  };
  return (
    <>
      {base === undefined && <p class="quiet">{t("sites.addAbout")}</p>}
      {field("name")}
      {field("url")}
      <Field
        label={t("sites.token")}
        hint={base === undefined ? "" : t("site.tokenHint")}
        wrong={wrong.get("token")}
        value={texts.token}
        secret
        onChange={(token) => set({ token })}
      />
      <details
        open={
          [base?.ca, base?.certificateSha256].some(Boolean) ||
          failure?.message.includes("certificate_sha256")
        }
      >
        <summary>{t("site.certificate")}</summary>
        {field("ca", true)}
        {field("certificateSha256")}
      </details>
      {base !== undefined && (
        <>
          {field("include", true)}
          {field("exclude", true)}
          <Pairs
            label={t("site.overrides")}
            hint={t("site.overridesHint")}
            value={texts.overrides}
            names={[...(settings.value?.byKey.keys() ?? [])]}
            wrong={wrong.get("overrides")}
            onChange={(overrides) => set({ overrides })}
          />
        </>
      )}
      {failure && violations.length === 0 && (
        <Notice kind="wrong">{failure.message || t("state.offline")}</Notice>
      )}
      {rest.map(({ field: path, description }) => (
        <p key={path} class="wrong" role="alert">
          {memberOf(path)}: {description}
        </p>
      ))}
    </>
  );
}
