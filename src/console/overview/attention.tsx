import type { ComponentChildren } from "preact";
import type { Token } from "../../../gen/mooring/v1/access_pb.js";
import type { Site } from "../../../gen/mooring/v1/site_pb.js";
import { allTokens } from "../api/access-list.ts";
import { connection, settings } from "../api/live.ts";
import { may, rights } from "../api/rights.ts";
import { endOf } from "../api/token.ts";
import { Around } from "../components/around.tsx";
import { Icon } from "../components/icon.tsx";
import { useCall } from "../components/use-call.ts";
import { When } from "../components/when.tsx";
import { t } from "../i18n/language.ts";
import { conflicts, edits } from "../settings/edit.ts";
import { href } from "../shell/location.ts";

/** Notice period before the own token expires, in milliseconds. */
const SOON = 14 * 86_400_000;

/** Conditions that need attention, as far as the token's rights show them; usually none. */
export function Attention() {
  const all = [...(settings.value?.byKey.values() ?? [])];
  const old = all.filter(({ flag }) => flag === 3);
  const waiting = edits.value.size;
  const contested = conflicts.value.length;
  const live = connection.value === "live";
  const { data: sites = [] } = useCall(sitesToLookAt, [live]);
  const { data: tokens = [] } = useCall(tokensThatEnd, [live]);
  const { data: status } = useCall(statusToLookAt, [live]);
  const { problems = [], endingTokens = 0, incidents = 0 } = status ?? {};
  const own = rights.value?.end;
  const ownEnds = own !== undefined && own < Date.now() + SOON;
  const lines = [old, sites, tokens, problems].reduce((sum, { length }) => sum + length, 0);
  const count = lines + waiting + endingTokens + incidents + (ownEnds ? 1 : 0);
  const sees = may("settings:read") || may("sites:read") || may("tokens:manage");
  // Without rights the absence of problems cannot be claimed.
  if (count === 0 && !sees) return null;
  return (
    <section class="sheet" aria-labelledby="attention">
      <h2 class="sheet-title" id="attention">
        {t("overview.attention")}
      </h2>
      <ul class="lines">
        {count === 0 && (
          <Line icon="done">
            <span class="quiet">{t("overview.fine")}</span>
          </Line>
        )}
        {waiting > 0 && (
          <Line icon="warning">
            <a href={href("review")}>{t("overview.waiting", { count: waiting })}</a>
            {contested > 0 && ` · ${t("edits.conflicts", { count: contested })}`}
          </Line>
        )}
        {ownEnds && (
          <Line icon="warning">
            <Around text={t("overview.ownEnds")}>
              <When time={own} ahead />
            </Around>
          </Line>
        )}
        {problems.map(({ name, problem }) => (
          <Line key={name} icon="warning">
            <code>{name}</code>: {problem}
          </Line>
        ))}
        {incidents > 0 && (
          <Line icon="warning">
            <a href={href("mounts")}>{t("overview.incidents", { count: incidents })}</a>
          </Line>
        )}
        {endingTokens > 0 && (
          <Line icon="warning">{t("overview.tokens", { count: endingTokens })}</Line>
        )}
        {tokens.map((token) => (
          <Line key={token.id} icon="warning">
            <a href={href("tokens", { q: token.id })}>{token.comment || token.id}</a>{" "}
            <Around text={t("overview.token", { principal: token.principal })}>
              <When time={endOf(token) ?? 0} ahead />
            </Around>
          </Line>
        ))}
        {sites.map(({ name, status }) => (
          <Line key={name} icon="warning">
            <a href={href("sites", { name })}>{name}</a>{" "}
            {status?.error || t("overview.site", { count: status?.drift.length ?? 0 })}
          </Line>
        ))}
        {old.map(({ key }) => (
          <Line key={key} icon="warning">
            <a href={href("settings", { key })}>
              <code>{key}</code>
            </a>{" "}
            {t("overview.deprecated")}
          </Line>
        ))}
      </ul>
    </section>
  );
}

/** Sites that are not as they should be. Their part of the contract comes after the page. */
async function sitesToLookAt(signal: AbortSignal): Promise<readonly Site[]> {
  if (!may("sites:read")) return [];
  const { siteService } = await import("../api/sites.ts");
  const { sites } = await siteService.listSites({}, { signal });
  return sites.filter(({ status }) =>
    ["differs", "failing", "stopped", "behind"].includes(status?.health ?? ""),
  );
}

/** Tokens that end soon and have no successor. */
async function tokensThatEnd(signal: AbortSignal): Promise<readonly Token[]> {
  if (!may("tokens:manage")) return [];
  const tokens = await allTokens({ active: true }, signal);
  return tokens.filter(({ endsSoon }) => endsSoon);
}

/** Problems of the service itself, and the number of expiring tokens that are not visible. */
async function statusToLookAt(signal: AbortSignal) {
  if (!may("settings:read")) return { problems: [], endingTokens: 0, incidents: 0 };
  const { statusService } = await import("../api/status.ts");
  const { checks, endingTokenCount, openIncidentCount } = await statusService.getStatus(
    {},
    { signal },
  );
  return {
    problems: checks.filter(({ problem }) => problem !== ""),
    endingTokens: may("tokens:manage") ? 0 : endingTokenCount,
    incidents: openIncidentCount,
  };
}

function Line(props: { readonly icon: "done" | "warning"; readonly children: ComponentChildren }) {
  return (
    <li class={props.icon}>
      <Icon name={props.icon} />
      <span>{props.children}</span>
    </li>
  );
}
