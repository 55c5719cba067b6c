import { useSignal } from "@preact/signals";
import {
  type Site,
  type SiteDifference,
  type SiteResult,
  SiteStanding,
} from "../../../gen/mooring/v1/site_pb.js";
import { may } from "../api/rights.ts";
import { siteService } from "../api/sites.ts";
import { SettingLink } from "../components/change-list.tsx";
import { Check } from "../components/field.tsx";
import { Failed, Notice, Skeleton } from "../components/state.tsx";
import { TextDiff } from "../components/text-diff.tsx";
import { useAction } from "../components/use-action.ts";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { labelOf } from "../settings/label.ts";
import { EqualValues, Reasons, Resolution, type Resolve } from "./resolution.tsx";

const STANDINGS: Partial<Record<SiteStanding, MessageKey>> = {
  [SiteStanding.MISSING]: "sync.missing",
  [SiteStanding.EXTRA]: "sync.extra",
  [SiteStanding.EXCLUDED]: "sync.excluded",
  [SiteStanding.HELD]: "sync.pinned",
  [SiteStanding.REFUSED]: "sync.refused",
  [SiteStanding.FLAPPING]: "sync.flapping",
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
  const results = useSignal<readonly SiteResult[]>([]);
  const all = useSignal(false);
  /** Settings that are left out of the next action. */
  const left = useSignal<ReadonlySet<string>>(new Set());
  const action = useAction();
  const { data, failure, again } = useCall(
    (signal) => siteService.compareSite({ name, all: all.value }, { signal }),
    [name, reloads, all.value],
  );
  const differing = data?.differences.filter(({ standing }) => standing === SiteStanding.DIFFERS);
  const keys = (differing ?? []).flatMap(({ key }) => (left.value.has(key) ? [] : [key]));
  const choose = (key: string, isChosen: boolean): void => {
    const next = new Set(left.value);
    if (isChosen) next.delete(key);
    else next.add(key);
    left.value = next;
  };
  const act: Resolve = (send) =>
    action.run(async () => {
      // Without keys, the call is about all settings, and the site can follow afterwards.
      const reply = await send(keys.length === differing?.length ? [] : keys);
      results.value = reply.results;
      onDone();
    });
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
            onChoose={(isChosen) => choose(difference.key, isChosen)}
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
      {differing?.length === 0 && may("sites:manage") && (
        <EqualValues site={site} busy={action.busy} act={act} />
      )}
      {differing !== undefined && differing.length > 0 && may("sites:manage") && (
        <Resolution name={name} keys={keys} busy={action.busy} act={act} />
      )}
      {action.problem !== "" && <Notice kind="wrong">{action.problem}</Notice>}
      <Reasons of={results.value} />
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
