import { timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Revision } from "../../../gen/mooring/v1/setting_pb.js";
import { settingService } from "../api/client.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { settings } from "../api/live.ts";
import { rememberRevisions } from "../api/revision.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { dayOf, Filters } from "../components/filters.tsx";
import { Empty, Failed, NoRight, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { historyTexts } from "../i18n/en/history.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { day } from "../i18n/format.ts";
import { addMessages, t } from "../i18n/language.ts";
import { go, href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Comparison, OneRevision } from "./revision.tsx";
import { RevisionItem } from "./revision-item.tsx";
import { RollbackPreview } from "./rollback.tsx";
import "./history.css";

addMessages(historyTexts, pagesTexts, recordsTexts);

/** History of changes with actors and reasons, and rollbacks. */
export default function HistoryPage() {
  const { query } = place.value;
  const numbers = (name: string): bigint | undefined => readRevision(query.get(name));
  const revision = numbers("revision");
  if (revision !== undefined) return <OneRevision key={`${revision}`} revision={revision} />;
  const back = numbers("back");
  const only = query.getAll("only");
  if (back !== undefined && !may("history:rollback"))
    return (
      <>
        <PageHead title={t("history.backTo", { revision: String(back) })} />
        <NoRight needs={["history:rollback"]} />
      </>
    );
  if (back !== undefined) return <RollbackPreview key={`${query}`} to={back} only={only} />;
  const [from, to] = [numbers("from"), numbers("to")];
  if (from !== undefined && to !== undefined)
    return <Comparison key={`${query}`} from={from} to={to} />;
  return <Timeline title={t("page.history")} />;
}

function readRevision(text: string | null): bigint | undefined {
  return text !== null && /^\d{1,18}$/.test(text) ? BigInt(text) : undefined;
}

const PAGE = 50;
const SOURCES = ["connect", "grpc", "grpc-web", "rest", "file", "start", "cli"];

/** Revisions that match the filters of the address, newest first. New ones appear at the top. */
function Timeline({ title }: { readonly title: string }) {
  const { query } = place.value;
  const revisions = useSignal<readonly Revision[] | undefined>(undefined);
  const next = useSignal("");
  const oldest = useSignal(0n);
  const failure = useSignal<Failure | undefined>(undefined);
  const picked = useSignal<readonly bigint[]>([]);
  const request = requestOf(query);
  const { data: sites = [] } = useCall(siteNames, []);
  const filters = JSON.stringify(Object.fromEntries(query));

  const reads = useRef(0);
  const shownFor = useRef("");
  const read = async (pageToken: string): Promise<void> => {
    reads.current += 1;
    const number = reads.current;
    try {
      const page = await settingService.listRevisions({ ...request, pageSize: PAGE, pageToken });
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
  const newest = settings.value?.revision;
  useEffect(() => void read(""), [filters, newest]);

  const source = query.get("source") ?? "";
  const shown = (revisions.value ?? []).filter((one) => source === "" || one.transport === source);
  const pick = (revision: bigint): void => {
    const others = picked.value.filter((one) => one !== revision);
    picked.value =
      others.length < picked.value.length ? others : [...picked.value, revision].slice(-2);
  };
  const compare = (): void => {
    const [one = 0n, other = newest ?? 0n] = picked.value;
    const [from, to] = one < other ? [one, other] : [other, one];
    go(href("history", { from: String(from), to: String(to) }));
  };
  return (
    <>
      <PageHead title={title}>
        <Button disabled={picked.value.length === 0} onClick={compare}>
          {t(picked.value.length === 1 ? "history.compareNow" : "history.compare")}
        </Button>
      </PageHead>
      <Filters
        fields={[
          { name: "key", label: t("history.key"), options: keys() },
          { name: "actor", label: t("history.actor") },
          ...(sites.length > 0
            ? [{ name: "site", label: t("mount.site"), choices: anyOf(sites) } as const]
            : []),
          {
            name: "source",
            label: t("history.source"),
            choices: [t("history.anySource"), ...SOURCES],
          },
        ]}
      />
      {failure.value && <Failed failure={failure.value} retry={() => void read("")} />}
      {revisions.value === undefined && !failure.value && <Skeleton />}
      {revisions.value !== undefined && shown.length === 0 && next.value === "" && (
        <Empty icon="history" title={t("history.none")} />
      )}
      {[...byDay(shown)].map(([name, list]) => (
        <section key={name} class="sheet" aria-label={name}>
          <h2 class="sheet-title">{name}</h2>
          <ul>
            {list.map((revision) => (
              <RevisionItem
                key={String(revision.revision)}
                of={revision}
                picked={picked.value.includes(revision.revision)}
                pick={() => pick(revision.revision)}
              />
            ))}
          </ul>
        </section>
      ))}
      {next.value !== "" && (
        <p class="older">
          <Button onClick={() => void read(next.value)}>{t("history.older")}</Button>
        </p>
      )}
      {next.value === "" && oldest.value > 1n && (
        <p class="older quiet small">{t("history.oldest", { revision: String(oldest.value) })}</p>
      )}
    </>
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
