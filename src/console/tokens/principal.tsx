import { useSignal } from "@preact/signals";
import { type Principal, PrincipalKind, type Token } from "../../../gen/mooring/v1/access_pb.js";
import { accessService, rights } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/confirm.tsx";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { TokenItem } from "./token-item.tsx";

/** One principal with its tokens, and the action that ends all of them. */
export function PrincipalSheet(props: {
  readonly principal: Principal;
  readonly tokens: readonly Token[];
  readonly onChange: () => void;
}) {
  const { principal, tokens, onChange } = props;
  const { name, kind, disableTime } = principal;
  const asked = useSignal(false);
  const isPerson = kind === PrincipalKind.PERSON;
  const close = (): void => {
    asked.value = false;
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
            <Button kind="bare" onClick={() => (asked.value = true)}>
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
      {asked.value && (
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
