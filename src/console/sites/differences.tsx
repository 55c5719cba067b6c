import { useSignal } from "@preact/signals";
import {
  type Site,
  type SiteDifference,
  type SiteResult,
  SiteStanding,
} from "../../../gen/mooring/v1/site_pb.js";
import { problemOf } from "../api/failure.ts";
import { asOwn } from "../api/live.ts";
import { may } from "../api/rights.ts";
import { siteService } from "../api/sites.ts";
import { Button } from "../components/button.tsx";
import { SettingLink } from "../components/change-list.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Check, ReasonField } from "../components/field.tsx";
import { Failed, Notice, Skeleton } from "../components/state.tsx";
import { TextDiff } from "../components/text-diff.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { labelOf } from "../settings/label.ts";

const STANDINGS: Partial<Record<SiteStanding, MessageKey>> = {
  [SiteStanding.MISSING]: "sync.missing",
  [SiteStanding.EXTRA]: "sync.extra",
  [SiteStanding.EXCLUDED]: "sync.excluded",
  [SiteStanding.HELD]: "sync.pinned",
  [SiteStanding.REFUSED]: "sync.refused",
  [SiteStanding.FOUGHT]: "sync.flapping",
};

/** Differences of a site, and the two ways to resolve them. */
export function SiteDifferences(props: {
  readonly site: Site;
  /** A new number triggers another read. */
  readonly reloads: number;
  readonly onDone: () => void;
}) {
  const { site, reloads, onDone } = props;
  const { name } = site;
  const reason = useSignal("");
  const wrong = useSignal("");
  const busy = useSignal(false);
  const results = useSignal<readonly SiteResult[]>([]);
  const all = useSignal(false);
  /** Settings that are left out of the next action. */
  const left = useSignal<ReadonlySet<string>>(new Set());
  const connects = useSignal(false);
  const openDialog = useSignal<"adopt" | "sync" | undefined>(undefined);
  const { data, failure, again } = useCall(
    (signal) => siteService.compareSite({ name, all: all.value }, { signal }),
    [name, reloads, all.value],
  );
  const differing = data?.differences.filter(({ standing }) => standing === SiteStanding.DIFFERS);
  const keys = (differing ?? []).flatMap(({ key }) => (left.value.has(key) ? [] : [key]));
  const count = keys.length;
  const hasAny = (differing?.length ?? 0) > 0;
  /** Whether no values were adopted or written yet, before which a site cannot follow. */
  const isNew = (site.status?.appliedRevision ?? 0n) === 0n;
  // Without keys, the call is about all settings, and the site can follow afterwards.
  const chosen = count === differing?.length ? [] : keys;
  const adopt = () =>
    act(asOwn(siteService.adoptSite({ name, keys: chosen, reason: reason.value.trim() })));
  const sync = () =>
    act(siteService.syncSite({ name, keys: chosen, connectDownloaders: connects.value }));
  const act = async (action: Promise<{ readonly results: readonly SiteResult[] }>) => {
    busy.value = true;
    try {
      results.value = (await action).results;
      wrong.value = "";
      onDone();
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  return (
    <section class="sheet" aria-labelledby="differences">
      <h2 class="sheet-title" id="differences">
        {t("site.differences")}
      </h2>
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={2} />}
      {data?.differences.length === 0 && <p class="no-change quiet">{t("site.same")}</p>}
      <ul class="changes">
        {data?.differences.map((difference) => (
          <Difference
            key={difference.key}
            of={difference}
            isChosen={!left.value.has(difference.key)}
            onChoose={(isChosen) => {
              const next = new Set(left.value);
              if (isChosen) next.delete(difference.key);
              else next.add(difference.key);
              left.value = next;
            }}
          />
        ))}
      </ul>
      <div class="block">
        <Check
          label={t("site.all")}
          checked={all.value}
          onChange={(checked) => {
            all.value = checked;
          }}
        />
      </div>
      {hasAny && may("sites:manage") && (
        <div class="block">
          {may("settings:write") && (
            <ReasonField
              value={reason.value}
              onChange={(text) => {
                reason.value = text;
              }}
            />
          )}
          <div class="ways">
            {may("settings:write") && (
              <Button
                disabled={busy.value || count === 0}
                onClick={() => {
                  openDialog.value = "adopt";
                }}
              >
                {t("site.adopt", { count })}
              </Button>
            )}
            {may("settings:reveal") && (
              <Button
                disabled={busy.value || count === 0}
                onClick={() => {
                  openDialog.value = "sync";
                }}
              >
                {t("site.sync", { count })}
              </Button>
            )}
          </div>
          {may("settings:reveal") && (
            <Check
              label={t("site.connectDownloaders")}
              checked={connects.value}
              onChange={(checked) => {
                connects.value = checked;
              }}
            />
          )}
        </div>
      )}
      {differing?.length === 0 && isNew && may("sites:manage") && may("settings:write") && (
        <div class="block">
          <p class="quiet">{t("site.equalAbout")}</p>
          <div>
            <Button disabled={busy.value} onClick={() => void adopt()}>
              {t("site.equal")}
            </Button>
          </div>
        </div>
      )}
      {openDialog.value !== undefined && (
        <Confirm
          title={t(`site.${openDialog.value}Title`, { site: name })}
          action={t(`site.${openDialog.value}`, { count })}
          onAction={openDialog.value === "adopt" ? adopt : sync}
          onClose={() => {
            openDialog.value = undefined;
          }}
        >
          <p>{t(`site.${openDialog.value}About`, { site: name })}</p>
          <p class="mono small">{keys.join(", ")}</p>
        </Confirm>
      )}
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
      {results.value.some(({ reason }) => reason !== "") && (
        <Notice kind="warning">
          <ul>
            {results.value
              .filter(({ reason }) => reason !== "")
              .map(({ key, reason }) => (
                <li key={key}>
                  <code>{key}</code>: {reason}
                </li>
              ))}
          </ul>
        </Notice>
      )}
    </section>
  );
}

function Difference(props: {
  readonly of: SiteDifference;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}) {
  const { of } = props;
  const { key, standing, secret, found, wanted, note } = of;
  const word = STANDINGS[standing];
  return (
    <li>
      <div class="change-head">
        {standing === SiteStanding.DIFFERS && may("sites:manage") && (
          <input
            type="checkbox"
            aria-label={t("site.choose", { key })}
            checked={props.isChosen}
            onChange={(event) => props.onChoose(event.currentTarget.checked)}
          />
        )}
        <strong>{labelOf({ key })}</strong>
        <SettingLink of={key} />
        {word && <span class="badge">{t(word)}</span>}
      </div>
      {secret ? <p class="quiet">{t("site.secret")}</p> : <TextDiff from={found} to={wanted} />}
      {note !== "" && <p class="quiet small">{note}</p>}
    </li>
  );
}
