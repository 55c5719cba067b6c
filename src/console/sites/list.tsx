import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Site, SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import { Icon } from "../components/button.tsx";
import { When } from "../components/text.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { href } from "../shell/location.ts";

const STATES: Readonly<Record<string, MessageKey>> = {
  ok: "site.ok",
  waiting: "site.waiting",
  differs: "site.differs",
  failing: "site.failing",
  stuck: "site.stuck",
};

/** State of a site as one word with an icon; a warning if the site needs attention. */
export function SiteState({ site }: { readonly site: Site }) {
  const state = site.status?.state ?? "waiting";
  const word = site.paused && state !== "stuck" ? "site.paused" : STATES[state];
  const good = ["ok", "waiting"].includes(state);
  return (
    <span class={`health ${good ? "good" : "bad"}`}>
      <Icon name={good ? "done" : "warning"} />
      {word === undefined ? state : t(word)}
    </span>
  );
}

/** List of all sites with their states. */
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
            <SiteState site={site} />
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
