import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Site, SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import { Icon } from "../components/button.tsx";
import { When } from "../components/text.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { href } from "../shell/location.ts";

const HEALTH: Readonly<Record<string, MessageKey>> = {
  new: "site.new",
  ok: "site.ok",
  degraded: "site.degraded",
  behind: "site.behind",
  differs: "site.differs",
  paused: "site.paused",
  failing: "site.failing",
  stopped: "site.stopped",
};

/** Health of a site as one word with an icon; a warning if the site needs attention. */
export function Health({ site }: { readonly site: Site }) {
  const health = site.status?.health ?? "new";
  const word = HEALTH[health];
  const good = ["ok", "new", "paused"].includes(health);
  return (
    <span class={`health ${good ? "good" : "bad"}`}>
      <Icon name={good ? "done" : "warning"} />
      {word === undefined ? health : t(word)}
    </span>
  );
}

/** List of all sites with their health. */
export function SiteList({ sites }: { readonly sites: readonly Site[] }) {
  return (
    <ul class="sheet sites">
      {sites.map((site) => (
        <li key={site.name}>
          <div>
            <a href={href("sites", { name: site.name })}>
              <strong>{site.name}</strong>
            </a>{" "}
            {site.upstream && <span class="badge">{t("site.upstream")}</span>}
            <p class="quiet small">{site.url}</p>
          </div>
          <p class="small">
            <Health site={site} />
            <span class="quiet">
              {t(site.mode === SiteMode.FOLLOW ? "site.follows" : "site.observed")}
              {site.status?.reachTime && (
                <>
                  {" · "}
                  <When time={timestampMs(site.status.reachTime)} />
                </>
              )}
            </span>
          </p>
        </li>
      ))}
    </ul>
  );
}
