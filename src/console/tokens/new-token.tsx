import { useSignal } from "@preact/signals";
import { PrincipalKind } from "../../../gen/mooring/v1/access_pb.js";
import type { CreateTokenResponse } from "../../../gen/mooring/v1/access_service_pb.js";
import type { Failure } from "../api/failure.ts";
import { accessService, may, type Need } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Check, Field } from "../components/field.tsx";
import { KeptNotice, useKeptDraft } from "../components/kept-draft.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { changedMembers } from "../records/changed-members.ts";
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

function emptyInput(): Input {
  return {
    principal: place.peek().query.get("for") ?? "",
    person: false,
    comment: "",
    scopes: [],
    limits: "",
    end: { kind: "days", days: 90, date: "" },
  };
}

function limitsIn({ limits }: Input): readonly string[] {
  return limits.split("\n").flatMap((line) => line.trim() || []);
}

/** Form for a new token, whose text is shown once. */
export function NewToken(props: { readonly known: Known; readonly onMade: () => void }) {
  const { known, onMade } = props;
  const kept = useKeptDraft<Input>({
    name: "token-new",
    initial: emptyInput,
    changes: (input) => Object.keys(changedMembers(emptyInput(), input)),
    // The inputs have no secret: the token is made by the service.
    write: (input) => ({ value: input, secrets: [] }),
    read: (value) => value as Input,
  });
  const input = kept.draft;
  const { busy, failure, run } = useAction();
  const made = useSignal<CreateTokenResponse | undefined>(undefined);
  const { principal } = input.value;
  const isNew = principal !== "" && !known.principals.some(({ name }) => name === principal);
  const make = () =>
    run(
      async () => {
        made.value = await create(input.value, isNew);
        kept.forget();
        onMade();
      },
      // A principal may have been created for the refused token.
      onMade,
    );
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
        <>
          <KeptNotice of={kept} />
          <form
            class="sheet block block-form"
            onSubmit={(event) => {
              event.preventDefault();
              void make();
            }}
          >
            <TokenFields
              input={input.value}
              isNew={isNew}
              known={known}
              failure={failure}
              set={(change) => {
                input.value = { ...input.peek(), ...change };
              }}
            />
            <div>
              <Button kind="main" type="submit" disabled={busy}>
                {t("token.make")}
              </Button>
            </div>
          </form>
        </>
      )}
    </>
  );
}

/** @param isNew whether the principal does not exist: a new name creates a program. */
async function create(input: Input, isNew: boolean): Promise<CreateTokenResponse> {
  const { principal, person, comment, scopes, end } = input;
  const limits = limitsIn(input);
  if (isNew && person)
    await accessService.createPrincipal({ name: principal, kind: PrincipalKind.PERSON });
  return accessService.createToken({
    principal,
    comment,
    limits: [...limits],
    ...endRequest(end),
    scopes: [...(limits.length > 0 ? limitable(scopes) : scopes)],
  });
}

/** Fields of a new token, with the reason of a refusal. */
function TokenFields(props: {
  readonly input: Input;
  readonly isNew: boolean;
  readonly known: Known;
  readonly failure: Failure | undefined;
  readonly set: (change: Partial<Input>) => void;
}) {
  const { input, known, failure, set } = props;
  const wrong = (field: string): string | undefined =>
    failure?.violations.find((one) => one.field.startsWith(field))?.description;
  return (
    <>
      <Field
        label={t("token.principal")}
        hint={t("token.principalHint")}
        wrong={wrong("principal")}
        value={input.principal}
        options={known.principals.filter((one) => !one.disableTime).map(({ name }) => name)}
        onChange={(principal) => set({ principal })}
      />
      {props.isNew && (
        <Check
          label={t("token.isPerson")}
          checked={input.person}
          onChange={(person) => set({ person })}
        />
      )}
      <Field
        label={t("token.comment")}
        hint={t("token.commentHint")}
        wrong={wrong("comment")}
        value={input.comment}
        onChange={(comment) => set({ comment })}
      />
      <ScopesField
        value={input.scopes}
        limited={limitsIn(input).length > 0}
        wrong={wrong("scopes")}
        onChange={(scopes) => set({ scopes })}
      />
      <Field
        label={t("token.limits")}
        hint={t("token.limitsHint")}
        wrong={wrong("limits")}
        value={input.limits}
        lines
        onChange={(limits) => set({ limits })}
      />
      <EndField
        value={input.end}
        kinds={["never"]}
        wrong={wrong("expire_time")}
        onChange={(end) => set({ end })}
      />
      {failure && failure.violations.length === 0 && (
        <Notice kind="wrong">{failure.message || t("state.offline")}</Notice>
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
            <code>{scope}</code>{" "}
            <span class="quiet">
              {t(`scope.${scope}`)}
              {limited && !fitsLimits && <span class="small"> {t("token.noLimits")}</span>}
            </span>
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
