import type { ComponentChildren } from "preact";
import type { Token } from "../../../gen/mooring/v1/access_pb.js";
import type { Site } from "../../../gen/mooring/v1/site_pb.js";
import { settingService } from "../api/client.ts";
import { connection, settings } from "../api/live.ts";
import { rememberRevisions } from "../api/revision.ts";
import { may, rights } from "../api/rights.ts";
import { allTokens, endOf } from "../api/token.ts";
import { Icon } from "../components/button.tsx";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { Around, When } from "../components/text.tsx";
import { useCall } from "../components/use-call.ts";
import { RevisionItem } from "../history/revision-item.tsx";
import { number, t } from "../i18n/language.ts";
import { conflicts, edits } from "../settings/edit.ts";
import { has, type Mark } from "../settings/find.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import "./overview.css";

/** The API reference opens in a new tab: leaving the page would sign out. */
const reference = document.documentElement.dataset["reference"] ?? "";
/** Number of shown changes. */
const NEWEST = 8;

/** Overview: figures, conditions that need attention, and recent changes. */
export default function OverviewPage() {
  const known = settings.value;
  const live = connection.value === "live";
  const { data: status } = useCall(statusToLookAt, [live]);
  const { data: sites = [] } = useCall(allSites, [live]);
  const version = status?.version;
  return (
    <>
      <PageHead title={known?.byKey.get("site_title")?.value || t("page.overview")}>
        <p class="quiet head-facts">
          {version && <span>Mooring {version}</span>}
          {reference !== "" && (
            <a href={reference} target="_blank" rel="noreferrer">
              {t("overview.reference")}
            </a>
          )}
        </p>
      </PageHead>
      {may("settings:read") && <Figures />}
      <Attention status={status} sites={sites} />
      {may("incidents:read") && (sites.length > 0 || !may("sites:read")) && <Days />}
      {may("history:read") && <Newest />}
      {!may("root") && <OwnToken />}
    </>
  );
}

/** Last days of sites and mounts. Their code is loaded after the page, and not without sites. */
function Days() {
  const { data } = useCall(() => import("../days/overview.tsx"), []);
  return data === undefined ? null : <data.DaysOverview />;
}

function Figures() {
  const known = settings.value;
  if (known === undefined) return <Skeleton rows={1} />;
  const all = [...known.byKey.values()];
  const count = (mark: Mark): number =>
    all.filter((setting) => has(setting, mark, edits.value)).length;
  return (
    <ul class="figures">
      <Figure
        name={t("overview.revision")}
        value={known.revision}
        address={may("history:read") ? href("history") : undefined}
      />
      <Figure name={t("page.settings")} value={all.length} address={href("settings")} />
      {(["set", "managed", "secret"] as const).map((mark) => (
        <Figure
          key={mark}
          name={t(`filter.${mark}`)}
          value={count(mark)}
          address={href("settings", { marks: mark })}
        />
      ))}
    </ul>
  );
}

function Figure(props: {
  readonly name: string;
  readonly value: number | bigint;
  /** Undefined: the token has no right to it. */
  readonly address: string | undefined;
}) {
  const content = (
    <>
      <span class="figure">{number(props.value)}</span>
      <span class="quiet">{props.name}</span>
    </>
  );
  return (
    <li>
      {props.address === undefined ? <div>{content}</div> : <a href={props.address}>{content}</a>}
    </li>
  );
}

function Newest() {
  const { data, failure, again } = useCall(
    async (signal) => {
      const page = await settingService.listRevisions({ pageSize: NEWEST }, { signal });
      rememberRevisions(page.revisions);
      return page.revisions;
    },
    [settings.value?.revision],
  );
  return (
    <section class="sheet" aria-labelledby="newest">
      <h2 class="sheet-title" id="newest">
        {t("overview.newest")}
      </h2>
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={3} />}
      {data?.length === 0 && <Empty icon="history" title={t("history.none")} />}
      <ul>
        {data?.map((revision) => (
          <RevisionItem key={String(revision.revision)} of={revision} />
        ))}
      </ul>
    </section>
  );
}

/** Notice period before the own token expires, in milliseconds. */
const SOON = 14 * 86_400_000;

/** Conditions that need attention, as far as the token's rights show them; usually none. */
function Attention(props: {
  readonly status: ServiceStatus | undefined;
  readonly sites: readonly Site[];
}) {
  const { status } = props;
  const sites = props.sites.filter((site) =>
    ["differs", "failing", "stuck"].includes(site.status?.state ?? ""),
  );
  const all = [...(settings.value?.byKey.values() ?? [])];
  const old = all.filter(({ flag }) => flag === 3);
  const waiting = edits.value.size;
  const contested = conflicts.value.length;
  const live = connection.value === "live";
  const { data: tokens = [] } = useCall(tokensThatEnd, [live]);
  const { problems = [], expiringTokens = 0, incidents = 0 } = status ?? {};
  const own = rights.value?.end;
  const ownEnds = own !== undefined && own < Date.now() + SOON;
  const lines = [old, sites, tokens, problems].reduce((sum, { length }) => sum + length, 0);
  const count = lines + waiting + expiringTokens + incidents + (ownEnds ? 1 : 0);
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
        {expiringTokens > 0 && (
          <Line icon="warning">{t("overview.tokens", { count: expiringTokens })}</Line>
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
            <a href={href("sites", { name })}>{name}</a> {status?.cause}
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

/** All sites that the token may read. Their part of the contract is loaded after the page. */
async function allSites(signal: AbortSignal): Promise<readonly Site[]> {
  if (!may("sites:read")) return [];
  const { siteService } = await import("../api/sites.ts");
  return (await siteService.listSites({}, { signal })).sites;
}

/** Tokens that expire soon and have no successor. */
async function tokensThatEnd(signal: AbortSignal): Promise<readonly Token[]> {
  if (!may("tokens:manage")) return [];
  const tokens = await allTokens({ active: true }, signal);
  return tokens.filter(({ expiresSoon }) => expiresSoon);
}

type ServiceStatus = Awaited<ReturnType<typeof statusToLookAt>>;

/** Version of the service, its own problems, and the number of expiring tokens that are not visible. */
async function statusToLookAt(signal: AbortSignal) {
  if (!may("settings:read")) return { version: "", problems: [], expiringTokens: 0, incidents: 0 };
  const { statusService } = await import("../api/status.ts");
  const { version, checks, expiringTokenCount, openIncidentCount } = await statusService.getStatus(
    {},
    { signal },
  );
  return {
    version,
    problems: checks.filter(({ problem }) => problem !== ""),
    expiringTokens: may("tokens:manage") ? 0 : expiringTokenCount,
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

/** The signed-in principal and its rights. */
function OwnToken() {
  if (rights.value === undefined) return null;
  const { principal, tokenId, needs, limits, end } = rights.value;
  return (
    <section class="sheet block" aria-labelledby="own-token">
      <h2 id="own-token">{t("overview.ownToken")}</h2>
      <p>
        <strong>{principal}</strong> <code class="quiet small">{tokenId}</code>
      </p>
      <p class="scopes">
        {[...needs, ...limits].map((one) => (
          <code key={one} class="badge">
            {one}
          </code>
        ))}
      </p>
      {end !== undefined && (
        <p class="quiet">
          <Around text={t("token.ends")}>
            <When time={end} ahead />
          </Around>
        </p>
      )}
    </section>
  );
}
