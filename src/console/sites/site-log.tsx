import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Site, SiteLogEntry } from "../../../gen/mooring/v1/site_pb.js";
import { type Failure, failureOf } from "../api/failure.ts";
import { siteService } from "../api/sites.ts";
import { Button } from "../components/button.tsx";
import { Failed, Skeleton } from "../components/state.tsx";
import { When } from "../components/text.tsx";
import { useAction } from "../components/use-action.ts";
import { sitesTexts } from "../i18n/en/sites.ts";
import { t } from "../i18n/language.ts";

/** Number of entries that are read at once. */
const PAGE = 30;

/** Actions at a site, newest first. */
export function SiteLog({ site }: { readonly site: Site }) {
  const entries = useSignal<readonly SiteLogEntry[] | undefined>(undefined);
  const hasMore = useSignal(false);
  const failure = useSignal<Failure | undefined>(undefined);
  /** @param before sequence of the entry before which entries are read; 0: the newest ones. */
  const read = async (before: bigint): Promise<void> => {
    try {
      const page = await siteService.listSiteLog({ name: site.name, pageSize: PAGE, before });
      const known = before === 0n ? [] : (entries.peek() ?? []);
      entries.value = [...known, ...page.entries];
      hasMore.value = page.entries.length === PAGE;
      failure.value = undefined;
    } catch (thrown) {
      failure.value = failureOf(thrown);
    }
  };
  const { run } = useAction();
  useEffect(() => void read(0n), [site]);
  const last = entries.value?.at(-1)?.sequence ?? 0n;
  return (
    <section class="sheet" aria-labelledby="site-log">
      <h2 class="sheet-title" id="site-log">
        {t("site.log")}
      </h2>
      {failure.value && <Failed failure={failure.value} retry={() => void read(0n)} />}
      {!entries.value && !failure.value && <Skeleton rows={2} />}
      {entries.value?.length === 0 && <p class="no-change quiet">{t("site.noLog")}</p>}
      <ul class="sites">
        {entries.value?.map(({ sequence, time, actor, action, keys, result }) => (
          <li key={String(sequence)}>
            <div>
              <p>
                <span class="badge">{actionName(action)}</span> {result}
              </p>
              <p class="quiet small">{keys.join(", ")}</p>
            </div>
            <p class="quiet small">
              <span>
                {t("row.by", { actor })}
                {time && (
                  <>
                    {" · "}
                    <When time={timestampMs(time)} />
                  </>
                )}
              </span>
            </p>
          </li>
        ))}
      </ul>
      {hasMore.value && (
        <p class="block">
          <Button onClick={() => void run(() => read(last))}>{t("site.olderLog")}</Button>
        </p>
      )}
    </section>
  );
}

/** Action in words; an unknown one stays. */
function actionName(action: string): string {
  const key = `log.${action}`;
  return Object.hasOwn(sitesTexts, key) ? t(key as keyof typeof sitesTexts) : action;
}
