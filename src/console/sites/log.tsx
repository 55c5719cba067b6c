import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Site } from "../../../gen/mooring/v1/site_pb.js";
import { siteService } from "../api/sites.ts";
import { Failed, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { When } from "../components/when.tsx";
import { t } from "../i18n/language.ts";

/** Entries that are shown. */
const NEWEST = 30;

/** Actions at a site, newest first. */
export function SiteLog({ site }: { readonly site: Site }) {
  const { data, failure, again } = useCall(
    (signal) => siteService.listSiteLog({ name: site.name, pageSize: NEWEST }, { signal }),
    [site],
  );
  return (
    <section class="sheet" aria-labelledby="site-log">
      <h2 class="sheet-title" id="site-log">
        {t("site.log")}
      </h2>
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={2} />}
      {data?.entries.length === 0 && <p class="no-change quiet">{t("site.noLog")}</p>}
      <ul class="sites">
        {data?.entries.map(({ sequence, time, actor, action, keys, result }) => (
          <li key={String(sequence)}>
            <div>
              <p>
                <span class="badge">{action}</span> {result}
              </p>
              <p class="quiet small">{keys.join(", ")}</p>
            </div>
            <p class="quiet small">
              {t("row.by", { actor })}
              {time && (
                <>
                  {" · "}
                  <When time={timestampMs(time)} />
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
