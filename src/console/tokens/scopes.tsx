import { may, type Need } from "../api/rights.ts";
import { t } from "../i18n/language.ts";

export type Scope = Exclude<Need, "root">;

/** All scopes, in the order of the documentation; whether a token limited to some settings may have it. */
const SCOPES: readonly (readonly [Scope, boolean])[] = [
  ["settings:read", true],
  ["settings:reveal", true],
  ["settings:write", true],
  ["settings:delete", true],
  ["history:read", true],
  ["history:rollback", true],
  ["backup:export", true],
  ["backup:import", true],
  ["drivers:read", true],
  ["sites:read", false],
  ["sites:manage", false],
  ["mounts:read", true],
  ["mounts:write", true],
  ["mounts:reveal", true],
  ["incidents:read", false],
  ["incidents:acknowledge", false],
  ["webhooks:manage", false],
  ["tokens:manage", false],
  ["audit:read", false],
];

/**
 * Scopes of a token. A token can grant only its own scopes, and limits apply to some scopes only.
 */
export function ScopesField(props: {
  readonly value: readonly Scope[];
  readonly limited: boolean;
  readonly wrong: string | undefined;
  readonly onChange: (scopes: readonly Scope[]) => void;
}) {
  const { value, limited, wrong, onChange } = props;
  const toggle = (scope: Scope): void => {
    const rest = value.filter((one) => one !== scope);
    onChange(rest.length < value.length ? rest : [...value, scope]);
  };
  return (
    <fieldset class="scope-list" aria-describedby="scopes-wrong">
      <legend class="label">{t("token.scopes")}</legend>
      {SCOPES.filter(([scope]) => may(scope)).map(([scope, fitsLimits]) => (
        <label key={scope} class="check">
          <input
            type="checkbox"
            checked={value.includes(scope)}
            disabled={limited && !fitsLimits}
            onChange={() => toggle(scope)}
          />
          <span>
            <code>{scope}</code> <span class="quiet">{t(`scope.${scope}`)}</span>
            {limited && !fitsLimits && <span class="quiet small"> {t("token.noLimits")}</span>}
          </span>
        </label>
      ))}
      <p class="wrong" id="scopes-wrong" role="alert">
        {wrong}
      </p>
    </fieldset>
  );
}

/** Scopes that a token with limits can have. */
export function limitable(scopes: readonly Scope[]): readonly Scope[] {
  const fitting = SCOPES.filter(([, fitsLimits]) => fitsLimits).map(([scope]) => scope);
  return scopes.filter((scope) => fitting.includes(scope));
}
