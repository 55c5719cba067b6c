import { timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Revision } from "../../../gen/mooring/v1/setting_pb.js";
import { settingService } from "../api/client.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { settings } from "../api/live.ts";
import { rememberRevisions } from "../api/revision.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { dayOf, Filters } from "../components/filters.tsx";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { day } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";
import { go, href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { RevisionItem } from "./revision-item.tsx";

const PAGE = 50;
const SOURCES = ["connect", "grpc", "grpc-web", "rest", "file", "start", "cli"];

/** Revisions that match the filters of the address, newest first. New ones appear at the top. */
export function Timeline() {
  const { query } = place.value;
  const { revisions, next, oldest, failure, read } = useRevisions(query);
  const picked = useSignal<readonly bigint[]>([]);
  const source = query.get("source") ?? "";
  const shown = (revisions ?? []).filter((one) => source === "" || one.transport === source);
  return (
    <>
      <PageHead title={t("page.history")}>
        <Compare picked={picked.value} />
      </PageHead>
      <TimelineFilters />
      {failure && <Failed failure={failure} retry={() => void read("")} />}
      {revisions === undefined && !failure && <Skeleton />}
      {revisions !== undefined && shown.length === 0 && next === "" && (
        <Empty icon="history" title={t(query.size > 0 ? "history.noneFits" : "history.none")} />
      )}
      {[...byDay(shown)].map(([name, list]) => (
        <Day key={name} name={name} revisions={list} picked={picked} />
      ))}
      {next !== "" && (
        <p class="older">
          <Button onClick={() => void read(next)}>{t("history.older")}</Button>
        </p>
      )}
      {next === "" && oldest > 1n && (
        <p class="older quiet small">{t("history.oldest", { revision: String(oldest) })}</p>
      )}
    </>
  );
}

/** Pages of the revisions of a query, read again after each change here. */
function useRevisions(query: URLSearchParams) {
  const revisions = useSignal<readonly Revision[] | undefined>(undefined);
  const next = useSignal("");
  const oldest = useSignal(0n);
  const failure = useSignal<Failure | undefined>(undefined);
  const filters = JSON.stringify(Object.fromEntries(query));
  const reads = useRef(0);
  const shownFor = useRef("");
  /** @param pageToken empty: the newest revisions. */
  const read = async (pageToken: string): Promise<void> => {
    reads.current += 1;
    const number = reads.current;
    try {
      const request = { ...requestOf(query), pageSize: PAGE, pageToken };
      const page = await settingService.listRevisions(request);
      // An answer to an earlier request must not replace a later one.
      if (number !== reads.current) return;
      const known = shownFor.current === filters ? (revisions.peek() ?? []) : [];
      rememberRevisions(page.revisions);
      shownFor.current = filters;
      oldest.value = page.oldestRevision;
      failure.value = undefined;
      if (pageToken === "" && joins(page.revisions, known)) {
        // Older revisions that were loaded stay when new ones arrive.
        const last = page.revisions.at(-1)?.revision ?? 0n;
        const older = known.filter(({ revision }) => revision < last);
        revisions.value = [...page.revisions, ...older];
        if (older.length === 0) next.value = page.nextPageToken;
        return;
      }
      revisions.value = pageToken === "" ? page.revisions : [...known, ...page.revisions];
      next.value = page.nextPageToken;
    } catch (thrown) {
      if (number === reads.current) failure.value = failureOf(thrown);
    }
  };
  useEffect(() => void read(""), [filters, settings.value?.revision]);
  return {
    revisions: revisions.value,
    next: next.value,
    oldest: oldest.value,
    failure: failure.value,
    read,
  };
}

/** Button that compares two picked revisions, or one with the current state. */
function Compare({ picked }: { readonly picked: readonly bigint[] }) {
  const compare = (): void => {
    const [one = 0n, other = settings.value?.revision ?? 0n] = picked;
    const [from, to] = one < other ? [one, other] : [other, one];
    go(href("history", { from: String(from), to: String(to) }));
  };
  return (
    <Button disabled={picked.length === 0} onClick={compare}>
      {t(picked.length === 1 ? "history.compareNow" : "history.compare")}
    </Button>
  );
}

function TimelineFilters() {
  const { data: sites = [] } = useCall(siteNames, []);
  const site = { name: "site", label: t("mount.site"), choices: anyOf(sites) } as const;
  return (
    <Filters
      fields={[
        { name: "key", label: t("history.key"), options: keys() },
        { name: "actor", label: t("history.actor") },
        ...(sites.length > 0 ? [site] : []),
        {
          name: "source",
          label: t("history.source"),
          choices: [t("history.anySource"), ...SOURCES],
        },
      ]}
    />
  );
}

/** Revisions of a day. @param props.picked revisions to compare, at most two. */
function Day(props: {
  readonly name: string;
  readonly revisions: readonly Revision[];
  readonly picked: Signal<readonly bigint[]>;
}) {
  const { name, picked } = props;
  const pick = (revision: bigint): void => {
    const others = picked.value.filter((one) => one !== revision);
    const isPicked = others.length < picked.value.length;
    picked.value = isPicked ? others : [...picked.value, revision].slice(-2);
  };
  return (
    <section class="sheet" aria-label={name}>
      <h2 class="sheet-title">{name}</h2>
      <ul>
        {props.revisions.map((of) => (
          <RevisionItem
            key={String(of.revision)}
            of={of}
            picked={picked.value.includes(of.revision)}
            pick={() => pick(of.revision)}
          />
        ))}
      </ul>
    </section>
  );
}

/** Request of a query. Days are in the time zone of the browser. */
function requestOf(query: URLSearchParams) {
  const since = dayOf(query.get("since"));
  const until = dayOf(query.get("until"));
  if (until) until.setDate(until.getDate() + 1);
  return {
    key: query.get("key") ?? "",
    actor: query.get("actor") ?? "",
    site: query.get("site") ?? "",
    ...(since && { since: timestampFromDate(since) }),
    ...(until && { until: timestampFromDate(until) }),
  };
}

/** Reports whether the newest revisions directly follow the known ones. */
function joins(newest: readonly Revision[], known: readonly Revision[]): boolean {
  const [last, first] = [newest.at(-1), known[0]];
  return last !== undefined && first !== undefined && first.revision >= last.revision;
}

function anyOf(sites: readonly string[]): readonly [any: string, ...choices: string[]] {
  return [t("mount.anySite"), ...sites];
}

/** Names of sites, which are filters for callers who may list them. */
async function siteNames(signal: AbortSignal): Promise<readonly string[]> {
  if (!may("sites:read")) return [];
  const { siteService } = await import("../api/sites.ts");
  return (await siteService.listSites({}, { signal })).sites.map(({ name }) => name);
}

/** Keys offered for completion. */
function keys(): string[] {
  return [...(settings.value?.byKey.keys() ?? [])].slice(0, 1_000);
}

function byDay(revisions: readonly Revision[]): Map<string, Revision[]> {
  return Map.groupBy(revisions, ({ time }) => (time ? day(timestampMs(time)) : ""));
}
