import { useSignal } from "@preact/signals";
import type { UserResult } from "../../../gen/mooring/v1/user_pb.js";
import { userService } from "../api/users.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { Results } from "./results.tsx";

/** Passwords of the new users, the plan of a copy, and its confirmation. */
export function CopyUsers(props: {
  readonly from: string;
  readonly to: string;
  /** Names of users that are missing on the other site. */
  readonly create: readonly string[];
  /** Names of existing users, which are replaced. */
  readonly update: readonly string[];
  readonly onDone: (results: readonly UserResult[]) => void;
}) {
  const { from, to, create, update, onDone } = props;
  const isRandom = useSignal(true);
  const password = useSignal("");
  const plan = useSignal<readonly UserResult[] | undefined>(undefined);
  const { busy, problem, run } = useAction();
  const send = (dryRun: boolean) =>
    userService.copyUsers({
      from,
      to,
      dryRun,
      names: [...create, ...update],
      update: [...update],
      ...(isRandom.value ? { randomPasswords: true } : { password: password.value }),
    });
  const show = () =>
    run(async () => {
      plan.value = (await send(true)).results;
    });
  const count = create.length + update.length;
  return (
    <form
      class="block-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void show();
      }}
    >
      {create.length > 0 && (
        <fieldset class="user-passwords">
          <legend class="label">{t("users.passwordKind")}</legend>
          {([true, false] as const).map((kind) => (
            <label key={String(kind)} class="check">
              <input
                type="radio"
                name="user-passwords"
                checked={isRandom.value === kind}
                onChange={() => {
                  isRandom.value = kind;
                }}
              />
              <span>{t(kind ? "users.random" : "users.onePassword")}</span>
            </label>
          ))}
          {!isRandom.value && (
            <input
              class="input"
              type="password"
              autocomplete="new-password"
              aria-label={t("users.password")}
              value={password.value}
              onInput={(event) => {
                password.value = event.currentTarget.value;
              }}
            />
          )}
        </fieldset>
      )}
      {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
      <p class="ways">
        <Button kind="main" type="submit" disabled={busy}>
          {t("users.copy", { count, site: to })}
        </Button>
      </p>
      {plan.value !== undefined && (
        <Confirm
          title={t("users.copyTitle", { site: to })}
          action={t("users.copyNow")}
          onAction={async () => onDone((await send(false)).results)}
          onClose={() => {
            plan.value = undefined;
          }}
        >
          <Results results={plan.value} />
        </Confirm>
      )}
    </form>
  );
}
