import { settingService } from "../api/client.ts";
import { settings } from "../api/live.ts";
import { rememberRevisions } from "../api/revision.ts";
import { may } from "../api/rights.ts";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { RevisionItem } from "../history/revision-item.tsx";
import { number, t } from "../i18n/language.ts";
import { edits } from "../settings/edit.ts";
import { has, type Mark } from "../settings/find.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Attention } from "./attention.tsx";
import { OwnToken } from "./own-token.tsx";
import "./overview.css";

/** The API reference opens in a new tab: leaving the page would sign out. */
const reference = document.documentElement.dataset["reference"] ?? "";
/** Changes that are shown. */
const NEWEST = 8;

/** Overview: figures, conditions that need attention, and recent changes. */
export default function OverviewPage() {
  const known = settings.value;
  const version = known?.byKey.get("version")?.value;
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
      <Attention />
      {may("history:read") && <Newest />}
      {!may("root") && <OwnToken />}
    </>
  );
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
  /** Undefined: the token does not open it. */
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
