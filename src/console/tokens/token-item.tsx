import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { Token } from "../../../gen/mooring/v1/access_pb.js";
import { accessService, may, type Need, rights } from "../api/rights.ts";
import { endOf, stateOf, type TokenState } from "../api/token.ts";
import { Around } from "../components/around.tsx";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/confirm.tsx";
import { Icon } from "../components/icon.tsx";
import { When } from "../components/when.tsx";
import { date } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";

const OPEN: readonly TokenState[] = ["active", "soon", "replaced"];

/** One token: purpose, rights, state and actions. */
export function TokenItem(props: { readonly token: Token; readonly onChange: () => void }) {
  const { token, onChange } = props;
  const { id, comment, scopes, limits } = token;
  const asked = useSignal(false);
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
              <Button kind="bare" onClick={() => (asked.value = true)}>
                {t("token.revoke")}
              </Button>
            </>
          )}
        </div>
      </div>
      {asked.value && (
        <Confirm
          title={t("token.revokeTitle", { name: comment || id })}
          action={t("token.revokeNow")}
          onAction={() => accessService.revokeToken({ id }).then(onChange)}
          onClose={() => (asked.value = false)}
        >
          {t("token.revokeQuestion")}
          {isOwn && ` ${t("token.isOwn")}`}
        </Confirm>
      )}
    </li>
  );
}

/** When it was made and used last. */
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
