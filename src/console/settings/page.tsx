import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { connection, type Settings, settings, trouble } from "../api/live.ts";
import { may, rights } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { SearchField } from "../components/search-field.tsx";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { pagesTexts } from "../i18n/en/pages.ts";
import { settingsTexts } from "../i18n/en/settings.ts";
import { addMessages, number, t } from "../i18n/language.ts";
import { go, href, place, refine } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Downloaders } from "./downloaders.tsx";
import { conflicts, discard, edits, violations } from "./edit.ts";
import { marks as allMarks, find, has, type Mark } from "./find.ts";
import { groupName, groupOrder } from "./label.ts";
import { NewSetting } from "./new-setting.tsx";
import { Row } from "./row.tsx";
import "./page.css";
import "./edit-bar.css";

addMessages(pagesTexts, settingsTexts);

/** Group of offline downloads (contract, section 2.4). */
const OFFLINE = 5;

/** All settings with their groups, a search over all groups, and pending edits. */
export default function SettingsPage() {
  const known = settings.value;
  return (
    <>
      {known === undefined ? (
        <>
          <PageHead title={t("page.settings")} />
          {connection.value === "refused" && trouble.value ? (
            <Failed failure={trouble.value} />
          ) : (
            <Skeleton rows={8} />
          )}
        </>
      ) : (
        <SettingList known={known} />
      )}
      <EditBar />
    </>
  );
}

/** Scrolls a bar of buttons so that the chosen one is in its middle, as on a narrow page. */
function centreChosen(bar: HTMLElement | null): void {
  const chosen = bar?.querySelector('[aria-pressed="true"]');
  if (!bar || !chosen) return;
  const [outer, inner] = [bar.getBoundingClientRect(), chosen.getBoundingClientRect()];
  bar.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
}

function SettingList({ known }: { readonly known: Settings }) {
  const { query } = place.value;
  // Computed once per state of the settings, not at every key press.
  const all = useMemo(() => [...known.byKey.values()], [known]);
  const groups = useMemo(
    () =>
      [...new Set(all.map(({ group }) => group))].sort(
        (one, other) => groupOrder(one) - groupOrder(other),
      ),
    [all],
  );
  const text = query.get("q") ?? "";
  const group = groupOf(query.get("group"), groups);
  const chosen = allMarks.filter((mark) => query.get("marks")?.split(",").includes(mark));
  const focus = query.get("key");
  const everywhere = text !== "" || chosen.length > 0 || focus !== null;
  const search = {
    text,
    marks: chosen,
    edited: chosen.includes("edited") ? edits.value : edits.peek(),
  };
  const found = find(all, { ...search, group: everywhere ? undefined : group });
  const shown = focus === null ? found : found.filter(({ key }) => key === focus);
  const bar = useRef<HTMLElement>(null);
  useLayoutEffect(() => centreChosen(bar.current), [group, everywhere]);
  return (
    <>
      <PageHead title={t("page.settings")}>
        <SearchField value={text} name={t("settings.search")} hint={t("settings.searchIn")} />
      </PageHead>
      <div class="filters">
        <nav ref={bar} aria-label={t("settings.groups")} class="groups">
          {groups.map((one) => (
            <Button
              key={one}
              kind="bare"
              aria-pressed={!everywhere && one === group}
              onClick={() =>
                refine({ group: String(one), q: undefined, marks: undefined, key: undefined })
              }
            >
              {groupName(one, all)}
            </Button>
          ))}
        </nav>
        <div class="tools">
          <MarkFilters all={all} chosen={chosen} />
          {mayMakeOwn() && <NewSetting />}
        </div>
      </div>
      <p class="count quiet small" role="status">
        {everywhere
          ? t("settings.found", { count: shown.length, all: all.length })
          : t("settings.count", { count: shown.length })}
        {everywhere && (
          <>
            {" "}
            <Button
              kind="bare"
              onClick={() => refine({ q: undefined, marks: undefined, key: undefined })}
            >
              {t("settings.showAll")}
            </Button>
          </>
        )}
      </p>
      {!everywhere && group === OFFLINE && may("settings:write") && <Downloaders />}
      {shown.length === 0 ? (
        <Empty icon="search" title={t("settings.none")}>
          <p class="quiet">{t("settings.noneHint")}</p>
        </Empty>
      ) : (
        <Rows found={shown} headed={everywhere} />
      )}
    </>
  );
}

function MarkFilters(props: {
  readonly all: Parameters<typeof has>[0][];
  readonly chosen: readonly Mark[];
}) {
  const { all, chosen } = props;
  const toggle = (mark: Mark): void => {
    const next = chosen.includes(mark) ? chosen.filter((one) => one !== mark) : [...chosen, mark];
    refine({ marks: next.join(","), key: undefined });
  };
  const edited = edits.value;
  const counts = useMemo(
    () => allMarks.map((mark) => all.filter((one) => has(one, mark, edited)).length),
    [all, edited],
  );
  return (
    <fieldset class="marks" aria-label={t("settings.filters")}>
      {allMarks.map((mark, index) => (
        <Button key={mark} aria-pressed={chosen.includes(mark)} onClick={() => toggle(mark)}>
          {t(`filter.${mark}`)} <span class="tally">{number(counts[index] ?? 0)}</span>
        </Button>
      ))}
    </fieldset>
  );
}

/** Rows up to the scroll position, because ten thousand editors would be too slow. */
function Rows(props: {
  readonly found: readonly Parameters<typeof Row>[0]["setting"][];
  readonly headed: boolean;
}) {
  const { found, headed } = props;
  const end = useRef<HTMLDivElement>(null);
  const count = useScrolledCount(end, found.length, `${place.value.query}`);
  const shown = found.slice(0, count);
  const groups = [...new Set(shown.map(({ group }) => group))];
  const flash = useSignal(place.value.query.get("key"));
  useEffect(() => {
    if (flash.value !== null) document.getElementById(`setting-${flash.value}`)?.focus();
  }, [flash]);
  return (
    <>
      {groups.map((group) => (
        <section key={group} class="sheet" aria-label={groupName(group, shown)}>
          {headed && <h2 class="sheet-title">{groupName(group, shown)}</h2>}
          <ul>
            {shown
              .filter((setting) => setting.group === group)
              .map((setting) => (
                <Row key={setting.key} setting={setting} />
              ))}
          </ul>
        </section>
      ))}
      <div ref={end} />
    </>
  );
}

/**
 * Reports whether the token may create settings: a token limited to groups may not, because a new
 * setting has no group.
 */
function mayMakeOwn(): boolean {
  const limits = rights.value?.limits ?? [];
  const fits = limits.length === 0 || limits.some((limit) => limit.startsWith("key:"));
  return fits && may("settings:write");
}

/** Group in the address; the site's group if it names no existing one. */
function groupOf(asked: string | null, groups: readonly number[]): number {
  const wanted = asked === null ? 1 : Number(asked);
  return groups.includes(wanted) ? wanted : (groups[0] ?? 1);
}

/** Number of pending edits, with their actions. */
function EditBar() {
  const count = edits.value.size;
  if (count === 0) return null;
  const wrong = violations.value.size;
  const others = conflicts.value.length;
  return (
    <section class="edit-bar" aria-label={t("edits.title")}>
      <p role="status">
        <strong>{t("edits.count", { count })}</strong>
        {wrong > 0 && <span class="refused"> · {t("edits.wrong", { count: wrong })}</span>}
        {others > 0 && <span class="contested"> · {t("edits.conflicts", { count: others })}</span>}
      </p>
      <Button onClick={() => discard([...edits.peek().keys()])}>{t("edits.discard")}</Button>
      <Button kind="main" onClick={() => go(href("review"))}>
        {t("edits.review")}
      </Button>
    </section>
  );
}

/** Number of initial rows: about a screen. */
const FIRST = 12;
/** Number of rows added near the end of the list. */
const STEP = 40;

/**
 * Number of rows of a long list to show: grows on scrolling towards its end.
 *
 * @param end an element after the last row.
 * @param list name of the list; another one starts again.
 */
function useScrolledCount(
  end: RefObject<HTMLElement | null>,
  length: number,
  list: string,
): number {
  const [state, setState] = useState({ list, count: FIRST });
  const count = state.list === list ? state.count : FIRST;
  useEffect(() => {
    const element = end.current;
    if (element === null || count >= length) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) setState({ list, count: count + STEP });
      },
      { rootMargin: "300px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [end, count, length, list]);
  return Math.min(count, length);
}
