import { useSignal } from "@preact/signals";
import { PrincipalKind } from "../../../gen/mooring/v1/access_pb.js";
import type { CreateTokenResponse } from "../../../gen/mooring/v1/access_service_pb.js";
import { type Failure, failureOf } from "../api/failure.ts";
import { accessService, may, type Need } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { type End, EndField, endRequest, MadeToken } from "./end.tsx";
import type { Known } from "./known.ts";

interface Input {
  readonly principal: string;
  readonly person: boolean;
  readonly comment: string;
  readonly scopes: readonly Scope[];
  /** One per line. */
  readonly limits: string;
  readonly end: End;
}

/** Form for a new token, whose text is shown once. */
export function NewToken(props: { readonly known: Known; readonly onMade: () => void }) {
  const { known, onMade } = props;
  const input = useSignal<Input>({
    principal: place.value.query.get("for") ?? "",
    person: false,
    comment: "",
    scopes: [],
    limits: "",
    end: { kind: "days", days: 90, date: "" },
  });
  const failure = useSignal<Failure | undefined>(undefined);
  const made = useSignal<CreateTokenResponse | undefined>(undefined);
  const busy = useSignal(false);
  const { principal, person, comment, scopes, limits, end } = input.value;
  const set = (change: Partial<Input>): void => {
    input.value = { ...input.peek(), ...change };
  };
  const isNew = principal !== "" && !known.principals.some(({ name }) => name === principal);
  const given = limits
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const make = async (): Promise<void> => {
    busy.value = true;
    try {
      const request = {
        principal,
        comment,
        limits: given,
        ...endRequest(end),
        scopes: [...(given.length > 0 ? limitable(scopes) : scopes)],
      };
      // A new name creates a program.
      if (isNew && person)
        await accessService.createPrincipal({ name: principal, kind: PrincipalKind.PERSON });
      made.value = await accessService.createToken(request);
      failure.value = undefined;
    } catch (thrown) {
      failure.value = failureOf(thrown);
    } finally {
      busy.value = false;
      onMade();
    }
  };
  const wrong = (field: string): string | undefined =>
    failure.value?.violations.find((one) => one.field.startsWith(field))?.description;
  return (
    <>
      <PageHead title={t("tokens.new")}>
        <a class="button" href={href("tokens")}>
          {t("page.tokens")}
        </a>
      </PageHead>
      {made.value ? (
        <MadeToken id={made.value.token?.id ?? ""} secret={made.value.secret} />
      ) : (
        <form
          class="sheet block block-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (!busy.value) void make();
          }}
        >
          <Field
            label={t("token.principal")}
            hint={t("token.principalHint")}
            wrong={wrong("principal")}
            value={principal}
            options={known.principals.filter((one) => !one.disableTime).map(({ name }) => name)}
            onChange={(text) => set({ principal: text })}
          />
          {isNew && (
            <label class="check">
              <input
                type="checkbox"
                checked={person}
                onChange={(event) => set({ person: event.currentTarget.checked })}
              />
              <span>{t("token.isPerson")}</span>
            </label>
          )}
          <Field
            label={t("token.comment")}
            hint={t("token.commentHint")}
            wrong={wrong("comment")}
            value={comment}
            onChange={(text) => set({ comment: text })}
          />
          <ScopesField
            value={scopes}
            limited={given.length > 0}
            wrong={wrong("scopes")}
            onChange={(chosen) => set({ scopes: chosen })}
          />
          <Field
            label={t("token.limits")}
            hint={t("token.limitsHint")}
            wrong={wrong("limits")}
            value={limits}
            lines
            onChange={(text) => set({ limits: text })}
          />
          <EndField
            value={end}
            kinds={["never"]}
            wrong={wrong("expire_time")}
            onChange={(chosen) => set({ end: chosen })}
          />
          {failure.value && failure.value.violations.length === 0 && (
            <Notice kind="wrong">{failure.value.message || t("state.offline")}</Notice>
          )}
          <div>
            <Button kind="main" type="submit" disabled={busy.value}>
              {t("token.make")}
            </Button>
          </div>
        </form>
      )}
    </>
  );
}

type Scope = Exclude<Need, "root">;

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
  ["rules:read", true],
  ["rules:write", true],
  ["rules:reveal", true],
  ["incidents:read", false],
  ["incidents:acknowledge", false],
  ["users:read", false],
  ["users:write", false],
  ["webhooks:manage", false],
  ["tokens:manage", false],
  ["audit:read", false],
];

/**
 * Scopes of a token. A token can grant only its own scopes, and limits apply to some scopes only.
 */
function ScopesField(props: {
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
function limitable(scopes: readonly Scope[]): readonly Scope[] {
  const fitting = SCOPES.filter(([, fitsLimits]) => fitsLimits).map(([scope]) => scope);
  return scopes.filter((scope) => fitting.includes(scope));
}
