import { useSignal } from "@preact/signals";
import type { RecordResult } from "../../../gen/mooring/v1/effect_pb.js";
import type { Site } from "../../../gen/mooring/v1/site_pb.js";
import { type Failure, failureOf, memberOf } from "../api/failure.ts";
import { settings } from "../api/live.ts";
import { siteService } from "../api/sites.ts";
import { Dialog, FormActions } from "../components/dialog.tsx";
import { Field } from "../components/field.tsx";
import type { PairList } from "../components/pair-list.ts";
import { Pairs } from "../components/pairs.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { Results } from "../mounts/results.tsx";
import { go, href } from "../shell/location.ts";

/** Time limit in milliseconds: a site may be slow. */
const PATIENCE = 180_000;

/** Texts of the form. */
interface SiteTexts {
  readonly name: string;
  readonly url: string;
  /** Empty: the token stays. */
  readonly token: string;
  readonly ca: string;
  readonly certificateSha256: string;
  /** Patterns, one per line. */
  readonly include: string;
  readonly exclude: string;
  readonly overrides: PairList;
}

/**
 * Dialog for a new site, which is read first, or for changes of a site. Changes with effects on
 * mounts of the server are shown before they are made.
 *
 * @param site undefined: a new one.
 */
export function SiteForm({
  site,
  onClose,
}: {
  readonly site?: Site;
  readonly onClose: () => void;
}) {
  const before = textsOf(site);
  const texts = useSignal<SiteTexts>(before);
  const failure = useSignal<Failure | undefined>(undefined);
  const busy = useSignal(false);
  /** Results of the dry run of these texts that wait for a confirmation. */
  const planned = useSignal<readonly RecordResult[]>([]);
  const title = site === undefined ? t("sites.add") : t("site.edit");
  const set = (change: Partial<SiteTexts>): void => {
    texts.value = { ...texts.peek(), ...change };
    planned.value = [];
  };
  const save = async (): Promise<void> => {
    busy.value = true;
    try {
      const input = changesOf(before, texts.value);
      if (site === undefined)
        await siteService.createSite({ site: input }, { timeoutMs: PATIENCE });
      else if (!(await update(site.name, input))) return;
      onClose();
      go(href("sites", { name: texts.value.name.trim() }));
    } catch (thrown) {
      failure.value = failureOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  /** @returns false if the effects must be confirmed first. */
  const update = async (name: string, input: ReturnType<typeof changesOf>): Promise<boolean> => {
    const request = { name, site: input };
    if (planned.value.length === 0) {
      const { records } = await siteService.updateSite(
        { ...request, dryRun: true },
        { timeoutMs: PATIENCE },
      );
      planned.value = records.filter(({ effects }) => effects.length > 0);
      failure.value = undefined;
      if (planned.value.length > 0) return false;
    }
    await siteService.updateSite(request, { timeoutMs: PATIENCE });
    return true;
  };
  const wrong = new Map(
    failure.value?.violations.map(({ field, description }) => [fieldOf(field), description]),
  );
  const field = (name: keyof typeof HINTS, lines = false) => (
    <Field
      label={t(`sites.${name}`)}
      hint={hintOf(name)}
      wrong={wrong.get(name)}
      value={texts.value[name]}
      lines={lines}
      onChange={(text) => set({ [name]: text })}
    />
  );
  const rest = failure.value?.violations.filter(({ field }) => !KNOWN.has(fieldOf(field))) ?? [];
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="block-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy.value) void save();
        }}
      >
        {site === undefined && <p class="quiet">{t("sites.addAbout")}</p>}
        {field("name")}
        {field("url")}
        <Field
          label={t("sites.token")}
          hint={site === undefined ? "" : t("site.tokenHint")}
          wrong={wrong.get("token")}
          value={texts.value.token}
          secret
          onChange={(token) => set({ token })}
        />
        <details open={[before.ca, before.certificateSha256].some((text) => text !== "")}>
          <summary>{t("site.certificate")}</summary>
          {field("ca", true)}
          {field("certificateSha256")}
        </details>
        {site !== undefined && (
          <>
            {field("include", true)}
            {field("exclude", true)}
            <Pairs
              label={t("site.overrides")}
              hint={t("site.overridesHint")}
              value={texts.value.overrides}
              names={[...(settings.value?.byKey.keys() ?? [])]}
              wrong={wrong.get("overrides")}
              onChange={(overrides) => set({ overrides })}
            />
          </>
        )}
        {failure.value && failure.value.violations.length === 0 && (
          <Notice kind="wrong">{failure.value.message || t("state.offline")}</Notice>
        )}
        {rest.map(({ field, description }) => (
          <p key={field} class="wrong" role="alert">
            {memberOf(field)}: {description}
          </p>
        ))}
        {planned.value.length > 0 && (
          <Notice kind="warning">
            <strong>{t("effect.title")}</strong>
            <Results results={planned.value} />
          </Notice>
        )}
        <FormActions
          label={planned.value.length > 0 ? t("site.saveAnyway") : site ? t("site.save") : title}
          busy={busy.value}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  );
}

const HINTS = {
  name: undefined,
  url: undefined,
  ca: "site.caHint",
  certificateSha256: "site.pinHint",
  include: "site.includeHint",
  exclude: "site.excludeHint",
} as const;

function hintOf(name: keyof typeof HINTS): string {
  const hint = HINTS[name];
  return hint === undefined ? "" : t(hint);
}

/** Members with a field in the form. */
const KNOWN = new Set([...Object.keys(HINTS), "token", "overrides"]);

/** Member of the form that a violation is about: `site.certificate_sha256`, `overrides.KEY`. */
function fieldOf(field: string): string {
  const [, name = ""] = /^(?:site\.)?(\w+)/.exec(field) ?? [];
  return name === "certificate_sha256" ? "certificateSha256" : name;
}

function textsOf(site: Site | undefined): SiteTexts {
  return {
    name: site?.name ?? "",
    url: site?.url ?? "",
    token: "",
    ca: site?.ca ?? "",
    certificateSha256: site?.certificateSha256 ?? "",
    include: site?.include.join("\n") ?? "",
    exclude: site?.exclude.join("\n") ?? "",
    overrides: Object.entries(site?.overrides ?? {}),
  };
}

/** Members of the texts that differ from those of the site. */
function changesOf(before: SiteTexts, texts: SiteTexts) {
  const changed = (name: "name" | "url" | "token" | "ca" | "certificateSha256") =>
    texts[name] === before[name] ? {} : { [name]: texts[name].trim() };
  const patterns = (name: "include" | "exclude") =>
    texts[name] === before[name]
      ? {}
      : { [name]: { patterns: texts[name].split(/[\n,]/).flatMap((each) => each.trim() || []) } };
  const overrides = texts.overrides.filter(([key, value]) => `${key}${value}`.trim() !== "");
  const isSame = JSON.stringify(overrides) === JSON.stringify(before.overrides);
  return {
    ...changed("name"),
    ...changed("url"),
    ...changed("token"),
    ...changed("ca"),
    ...changed("certificateSha256"),
    ...patterns("include"),
    ...patterns("exclude"),
    ...(isSame ? {} : { overrides: { values: Object.fromEntries(overrides) } }),
  };
}
