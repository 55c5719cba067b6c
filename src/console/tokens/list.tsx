import type { Token } from "../../../gen/mooring/v1/access_pb.js";
import type { Failure } from "../api/failure.ts";
import { stateOf, type TokenState } from "../api/token.ts";
import { Button } from "../components/button.tsx";
import { SearchField } from "../components/search-field.tsx";
import { Empty, Failed } from "../components/state.tsx";
import { number, t } from "../i18n/language.ts";
import { href, place, refine } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import type { Known } from "./known.ts";
import { PrincipalSheet } from "./principal.tsx";

/** Views of the list. */
const VIEWS = {
  open: ["active", "soon", "replaced"],
  soon: ["soon"],
  closed: ["ended", "revoked", "disabled"],
} as const satisfies Readonly<Record<string, readonly TokenState[]>>;

type View = keyof typeof VIEWS;

/** Tokens that are shown at once, the newest; and principals. */
const MOST = 300;

/** All principals with their tokens, filtered by search and view. */
export function TokenList(props: {
  readonly known: Known;
  readonly failure: Failure | undefined;
  readonly again: () => void;
}) {
  const { known, failure, again } = props;
  const { query } = place.value;
  const text = query.get("q") ?? "";
  const view = viewOf(query.get("view"));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = known.tokens.filter((token) =>
    words.every((word) => haystackOf(token).includes(word)),
  );
  const shown = view === undefined ? found : found.filter((token) => isIn(view, token));
  const byPrincipal = Map.groupBy(shown.slice(0, MOST), ({ principal }) => principal);
  const narrowed = words.length > 0 || view !== undefined;
  const principals = known.principals
    .filter(({ name }) => byPrincipal.has(name) || !narrowed || words.includes(name))
    .sort((one, other) => Number(byPrincipal.has(other.name)) - Number(byPrincipal.has(one.name)))
    .slice(0, MOST);
  return (
    <>
      <PageHead title={t("page.tokens")}>
        <SearchField value={text} name={t("tokens.search")} hint={t("tokens.searchIn")} />
        <a class="button main" href={href("tokens", { new: "1" })}>
          {t("tokens.new")}
        </a>
      </PageHead>
      <fieldset class="marks" aria-label={t("settings.filters")}>
        {(Object.keys(VIEWS) as View[]).map((one) => (
          <Button
            key={one}
            aria-pressed={one === view}
            onClick={() => refine({ view: one === view ? undefined : one })}
          >
            {t(`tokens.${one}`)}{" "}
            <span class="tally">{number(found.filter((token) => isIn(one, token)).length)}</span>
          </Button>
        ))}
      </fieldset>
      <p class="count quiet small" role="status">
        {t("tokens.count", { count: shown.length })}
      </p>
      {failure && <Failed failure={failure} retry={again} />}
      {principals.map((principal) => (
        <PrincipalSheet
          key={principal.name}
          principal={principal}
          tokens={byPrincipal.get(principal.name) ?? []}
          onChange={again}
        />
      ))}
      {shown.length > MOST && (
        <p class="older quiet small">{t("tokens.more", { count: shown.length - MOST })}</p>
      )}
      {principals.length === 0 && (
        <Empty icon="key" title={t(narrowed ? "tokens.noneFits" : "tokens.none")}>
          {!narrowed && <p class="quiet">{t("tokens.about")}</p>}
        </Empty>
      )}
    </>
  );
}

function viewOf(text: string | null): View | undefined {
  return text !== null && text in VIEWS ? (text as View) : undefined;
}

function isIn(view: View, token: Token): boolean {
  return (VIEWS[view] as readonly TokenState[]).includes(stateOf(token));
}

function haystackOf({ id, principal, comment, scopes, limits, createdBy }: Token): string {
  return [id, principal, comment, createdBy, ...scopes, ...limits].join("\n").toLowerCase();
}
