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
import { ReasonField } from "../components/field.tsx";
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
  readonly turn: number;
  readonly onDone: () => void;
}) {
  const { site, turn, onDone } = props;
  const { name } = site;
  const reason = useSignal("");
  const wrong = useSignal("");
  const busy = useSignal(false);
  const results = useSignal<readonly SiteResult[]>([]);
  const { data, failure, again } = useCall(
    (signal) => siteService.compareSite({ name }, { signal }),
    [name, turn],
  );
  const differing = data?.differences.filter(({ standing }) => standing === SiteStanding.DIFFERS);
  const count = differing?.length ?? 0;
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
          <Difference key={difference.key} of={difference} />
        ))}
      </ul>
      {count > 0 && may("sites:manage") && (
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
                disabled={busy.value}
                onClick={() =>
                  void act(asOwn(siteService.adoptSite({ name, reason: reason.value.trim() })))
                }
              >
                {t("site.adopt", { count })}
              </Button>
            )}
            {may("settings:reveal") && (
              <Button
                disabled={busy.value}
                onClick={() => void act(siteService.syncSite({ name }))}
              >
                {t("site.sync", { count })}
              </Button>
            )}
          </div>
        </div>
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

function Difference({ of }: { readonly of: SiteDifference }) {
  const { key, standing, secret, found, wanted, note } = of;
  const word = STANDINGS[standing];
  return (
    <li>
      <div class="change-head">
        <strong>{labelOf({ key })}</strong>
        <SettingLink of={key} />
        {word && <span class="badge">{t(word)}</span>}
      </div>
      {secret ? <p class="quiet">{t("site.secret")}</p> : <TextDiff from={found} to={wanted} />}
      {note !== "" && <p class="quiet small">{note}</p>}
    </li>
  );
}
