import type { ComponentChildren } from "preact";
import type { SiteChoice } from "../../../gen/mooring/v1/site_choice_pb.js";
import { Icon } from "../components/button.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";

/** Words of the states of a record on a site. */
const STATES: Readonly<Record<string, MessageKey>> = {
  ok: "record.ok",
  waiting: "record.waiting",
  differs: "record.differs",
  failing: "record.failing",
  stuck: "record.stuck",
};

/**
 * Word of a state on a site, in the language of the page.
 *
 * @param count number of records or sites in this state, before the word: "41 differ".
 */
export function stateName(state: string, count = 1): string {
  const word = STATES[state];
  return word === undefined ? state : t(word, { count });
}

/**
 * State of a record on a site.
 *
 * @param cause further word, such as the class of an incident; empty: none.
 */
export function StateOnSite(props: {
  readonly of: { readonly site: string; readonly state: string; readonly count?: number };
  readonly cause?: string;
}) {
  const { site, state, count } = props.of;
  const isGood = state === "ok" || state === "waiting";
  return (
    <span class={`health ${isGood ? "good" : "bad"}`}>
      <Icon name={isGood ? "done" : "warning"} />
      {site}: {stateName(state, count)}
      {props.cause && ` (${props.cause})`}
    </span>
  );
}

/** Maximum number of sites that are shown one by one. */
const FEW_SITES = 4;

/** Number of sites in each state, worst first, in place of a long list. */
export function StateCounts({ of }: { readonly of: readonly { readonly state: string }[] }) {
  const counts = Map.groupBy(of, ({ state }) => state);
  const states = [...Object.keys(STATES).reverse(), ...counts.keys()];
  return [...new Set(states)].map((state) => {
    const count = counts.get(state)?.length ?? 0;
    if (count === 0) return null;
    return <StateOnSite key={state} of={{ site: t("record.onSites", { count }), state, count }} />;
  });
}

export function isLong(sites: readonly unknown[]): boolean {
  return sites.length > FEW_SITES;
}

/** Sheet with a row for each site of a record, behind the numbers of states if there are many. */
export function SiteStates(props: {
  readonly status: readonly { readonly state: string }[];
  /** Rows, one for each site. */
  readonly children: ComponentChildren;
}) {
  const rows = <ul class="sheet mounts">{props.children}</ul>;
  if (!isLong(props.status)) return rows;
  return (
    <details class="site-states">
      <summary>
        <StateCounts of={props.status} />
      </summary>
      {rows}
    </details>
  );
}

/** Sites of a record in words. */
export function sitesText(sites: SiteChoice | undefined): string {
  if (sites?.all) return t("mount.allSites");
  return sites === undefined || sites.none ? t("record.noSite") : sites.names.join(", ");
}

/** Item of a list of records: name with badges, facts, and the states on its sites. */
export function RecordItem(props: {
  readonly name: string;
  readonly address: string;
  readonly badges: readonly string[];
  readonly facts: ComponentChildren;
  /** States on its sites. */
  readonly children: ComponentChildren;
}) {
  return (
    <li data-record={props.name}>
      <div>
        <a href={props.address}>
          <strong>{props.name}</strong>
        </a>{" "}
        {props.badges.map((badge) => (
          <span key={badge} class="badge">
            {badge}
          </span>
        ))}
        <p class="quiet small">{props.facts}</p>
      </div>
      <p class="small">{props.children}</p>
    </li>
  );
}
