import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { type Principal, PrincipalKind, type Token } from "../../../gen/mooring/v1/access_pb.js";
import type { Failure } from "../api/failure.ts";
import { connection } from "../api/live.ts";
import { accessService, may, type Need, rights } from "../api/rights.ts";
import { endOf, stateOf, type TokenState } from "../api/token.ts";
import { Button, Icon } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { SearchField } from "../components/search-field.tsx";
import { Empty, Failed } from "../components/state.tsx";
import { Around, When } from "../components/text.tsx";
import { useCall, useFollow } from "../components/use-call.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { tokensTexts } from "../i18n/en/tokens.ts";
import { date } from "../i18n/format.ts";
import { addMessages, number, t } from "../i18n/language.ts";
import { href, place, refine } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { WaitingPage } from "../shell/waiting-page.tsx";
import { followKnown, type Known, readKnown } from "./known.ts";
import { NewToken } from "./new-token.tsx";
import { RotateToken } from "./rotate.tsx";
import "../components/field.css";
import "./tokens.css";

addMessages(pagesTexts, tokensTexts);

/** Principals, tokens and their rights. */
export default function TokensPage() {
  const { query } = place.value;
  const { data, failure, again } = useCall(readKnown, [connection.value === "live"]);
  // The first `again` stays valid.
  useFollow((signal) => followKnown(again, signal), []);
  const rotated = query.get("rotate");
  if (data === undefined)
    return <WaitingPage title={t("page.tokens")} failure={failure} retry={again} rows={6} />;
  if (query.has("new")) return <NewToken known={data} onMade={again} />;
  if (rotated !== null) {
    const token = data.tokens.find(({ id }) => id === rotated);
    return <RotateToken key={rotated} id={rotated} token={token} onMade={again} />;
  }
  return <TokenList known={data} failure={failure} again={again} />;
}

/** Views of the list. */
const VIEWS = {
  open: ["active", "soon", "replaced"],
  soon: ["soon"],
  closed: ["ended", "revoked", "disabled"],
} as const satisfies Readonly<Record<string, readonly TokenState[]>>;

type View = keyof typeof VIEWS;

/** Maximum number of shown tokens (the newest) and of principals. */
const MOST = 300;

/** All principals with their tokens, filtered by search and view. */
function TokenList(props: {
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

/** Principal with its tokens, and the action that ends all of them. */
function PrincipalSheet(props: {
  readonly principal: Principal;
  readonly tokens: readonly Token[];
  readonly onChange: () => void;
}) {
  const { principal, tokens, onChange } = props;
  const { name, kind, disableTime } = principal;
  const isDialogOpen = useSignal(false);
  const isPerson = kind === PrincipalKind.PERSON;
  const close = (): void => {
    isDialogOpen.value = false;
  };
  return (
    <section class="sheet" aria-label={name}>
      <header class="sheet-title principal">
        <Icon name={isPerson ? "person" : "file"} />
        <h2>{name}</h2>
        <span class="badge">{t(isPerson ? "principal.person" : "principal.program")}</span>
        {disableTime && <span class="badge bad">{t("principal.disabled")}</span>}
        {!disableTime && (
          <span class="ways">
            <a class="button bare" href={href("tokens", { new: "1", for: name })}>
              {t("tokens.new")}
            </a>
            <Button kind="bare" onClick={() => (isDialogOpen.value = true)}>
              {t("principal.disable")}
            </Button>
          </span>
        )}
      </header>
      {tokens.length === 0 && <p class="no-change quiet">{t("principal.noTokens")}</p>}
      <ul>
        {tokens.map((token) => (
          <TokenItem key={token.id} token={token} onChange={onChange} />
        ))}
      </ul>
      {isDialogOpen.value && (
        <Confirm
          title={t("principal.disableTitle", { name })}
          action={t("principal.disableNow")}
          onAction={() => accessService.disablePrincipal({ name }).then(onChange)}
          onClose={close}
        >
          {t("principal.disableQuestion")}
          {rights.value?.principal === name && ` ${t("token.isOwn")}`}
        </Confirm>
      )}
    </section>
  );
}

const OPEN: readonly TokenState[] = ["active", "soon", "replaced"];

/** Token with its purpose, rights, state and actions. */
function TokenItem(props: { readonly token: Token; readonly onChange: () => void }) {
  const { token, onChange } = props;
  const { id, comment, scopes, limits } = token;
  const isDialogOpen = useSignal(false);
  const state = stateOf(token);
  const isOwn = rights.value?.tokenId === id;
  // A token can grant only its own scopes.
  const mayGive = may(...(scopes as Need[]));
  return (
    <li class="token" data-token={id}>
      <div class="what">
        <p>
          {comment === "" ? (
            <span class="quiet">{t("token.noComment")}</span>
          ) : (
            <strong>{comment}</strong>
          )}{" "}
          <code class="quiet small">{id}</code>{" "}
          {isOwn && <span class="badge edited">{t("token.own")}</span>}
        </p>
        <p class="scopes">
          {[...scopes, ...limits].map((one) => (
            <code key={one} class="badge">
              {one}
            </code>
          ))}
        </p>
        <p class="quiet small">
          <Uses token={token} />
        </p>
      </div>
      <div class="how small">
        <p class={`health ${OPEN.includes(state) && state !== "soon" ? "good" : "bad"}`}>
          <Icon name={OPEN.includes(state) && state !== "soon" ? "done" : "warning"} />
          {t(`token.${state}`)}
        </p>
        <p class="quiet">
          <End token={token} state={state} />
        </p>
        <div class="ways">
          {may("audit:read") && (
            <a class="button bare" href={href("audit", { token: id })}>
              {t("token.deeds")}
            </a>
          )}
          {OPEN.includes(state) && (
            <>
              {mayGive && state !== "replaced" && (
                <a class="button bare" href={href("tokens", { rotate: id })}>
                  {t("token.rotate")}
                </a>
              )}
              <Button kind="bare" onClick={() => (isDialogOpen.value = true)}>
                {t("token.revoke")}
              </Button>
            </>
          )}
        </div>
      </div>
      {isDialogOpen.value && (
        <Confirm
          title={t("token.revokeTitle", { name: comment || id })}
          action={t("token.revokeNow")}
          onAction={() => accessService.revokeToken({ id }).then(onChange)}
          onClose={() => (isDialogOpen.value = false)}
        >
          {t("token.revokeQuestion")}
          {isOwn && ` ${t("token.isOwn")}`}
        </Confirm>
      )}
    </li>
  );
}

/** Creation and last use of a token. */
function Uses({ token }: { readonly token: Token }) {
  const { createTime, createdBy, lastUseTime, lastUsePeer } = token;
  return (
    <>
      <Around text={t("token.madeBy", { actor: createdBy })}>
        {createTime && <When time={timestampMs(createTime)} />}
      </Around>
      {" · "}
      {lastUseTime ? (
        <>
          <Around text={t("token.used")}>
            <When time={timestampMs(lastUseTime)} />
          </Around>
          {lastUsePeer !== "" && ` ${t("token.from", { peer: lastUsePeer })}`}
        </>
      ) : (
        t("token.unused")
      )}
    </>
  );
}

/** Time and cause of its end. */
function End({ token, state }: { readonly token: Token; readonly state: TokenState }) {
  const { revokeTime, revokedBy, replacedBy } = token;
  const end = endOf(token);
  if (revokeTime)
    return (
      <Around text={t("token.revokedBy", { actor: revokedBy })}>
        <When time={timestampMs(revokeTime)} />
      </Around>
    );
  return (
    <>
      {end === undefined ? (
        t("token.never")
      ) : (
        <Around text={t(state === "ended" ? "token.hasEnded" : "token.ends")}>
          {state === "soon" ? <When time={end} ahead /> : date(end)}
        </Around>
      )}
      {replacedBy !== "" && (
        <>
          {" · "}
          {t("token.successor")} <code>{replacedBy}</code>
        </>
      )}
    </>
  );
}
