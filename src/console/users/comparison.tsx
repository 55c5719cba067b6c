import { useSignal } from "@preact/signals";
import type { User, UserDifference, UserResult } from "../../../gen/mooring/v1/user_pb.js";
import { may } from "../api/rights.ts";
import { userService } from "../api/users.ts";
import { Failed, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { CopyUsers } from "./copy.tsx";
import { Results } from "./results.tsx";
import { permissionsInWords, rolesInWords } from "./words.ts";

/** Differences of the users of two sites, and the selection for a copy. */
export function Comparison({ from, to }: { readonly from: string; readonly to: string }) {
  /** Names of the users to be copied or replaced; undefined: all missing ones. */
  const chosen = useSignal<ReadonlySet<string> | undefined>(undefined);
  const results = useSignal<readonly UserResult[]>([]);
  const { data, failure, again } = useCall(
    (signal) => userService.compareUsers({ from, to }, { signal }),
    [from, to],
  );
  const differences = data?.differences ?? [];
  const missing = differences.filter(({ state }) => state === "missing");
  const selected = chosen.value ?? new Set(missing.map(({ name }) => name));
  const choose = (name: string, isChosen: boolean): void => {
    const next = new Set(selected);
    if (isChosen) next.add(name);
    else next.delete(name);
    chosen.value = next;
  };
  const named = differences.filter(({ name }) => selected.has(name));
  return (
    <section class="sheet" aria-labelledby="comparison">
      <h2 class="sheet-title" id="comparison">
        {t("users.differences", { site: to })}
      </h2>
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={2} />}
      {data?.differences.length === 0 && <p class="no-change quiet">{t("users.same")}</p>}
      <ul class="users">
        {differences.map((difference) => (
          <Difference
            key={difference.name}
            of={difference}
            isChosen={selected.has(difference.name)}
            onChoose={(isChosen) => choose(difference.name, isChosen)}
          />
        ))}
      </ul>
      {results.value.length > 0 && (
        <div class="block">
          <h3>{t("users.copied", { site: to })}</h3>
          <Results results={results.value} />
        </div>
      )}
      {may("users:write") && named.length > 0 && (
        <div class="block">
          <CopyUsers
            from={from}
            to={to}
            create={namesOf(named, "missing")}
            update={namesOf(named, "differs")}
            onDone={(done) => {
              results.value = done;
              chosen.value = undefined;
              again();
            }}
          />
        </div>
      )}
    </section>
  );
}

function namesOf(differences: readonly UserDifference[], wanted: string): string[] {
  return differences.flatMap(({ name, state }) => (state === wanted ? [name] : []));
}

const STATES: Readonly<Record<string, MessageKey>> = {
  missing: "users.missing",
  extra: "users.extra",
};

function Difference(props: {
  readonly of: UserDifference;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}) {
  const { name, state, differs, from, to } = props.of;
  const word = STATES[state];
  const isBuiltIn = from?.builtIn === true || to?.builtIn === true;
  const canCopy = may("users:write") && state !== "extra" && !isBuiltIn;
  return (
    <li data-difference={name}>
      <div>
        {canCopy ? (
          <label class="check">
            <input
              type="checkbox"
              aria-label={t(state === "missing" ? "user.chosen" : "user.replace", { name })}
              checked={props.isChosen}
              onChange={(event) => props.onChoose(event.currentTarget.checked)}
            />
            <strong>{name}</strong>
          </label>
        ) : (
          <strong>{name}</strong>
        )}{" "}
        {word && <span class="badge">{t(word)}</span>}
        {isBuiltIn && <span class="badge">{t("user.builtIn")}</span>}
        {differs.map((member) => (
          <p key={member} class="small">
            <span class="quiet">{t(MEMBERS[member]?.[0] ?? "user.state")}:</span>{" "}
            <del>{shown(to, member)}</del> → <ins>{shown(from, member)}</ins>
          </p>
        ))}
      </div>
    </li>
  );
}

/** Title and text of each member. */
const MEMBERS: Readonly<Record<string, readonly [MessageKey, (user: User) => string]>> = {
  base_path: ["user.folder", ({ basePath }) => basePath],
  roles: ["user.roles", ({ roles }) => rolesInWords(roles)],
  disabled: ["user.disabled", ({ disabled }) => t(disabled ? "user.yes" : "user.no")],
  permissions: ["user.permissions", ({ permissions }) => permissionsInWords(permissions)],
  sso_id: ["user.sso", ({ ssoId }) => ssoId || t("user.none")],
  allow_ldap: ["user.ldap", ({ allowLdap }) => t(allowLdap === false ? "user.no" : "user.yes")],
};

function shown(user: User | undefined, member: string): string {
  return user === undefined ? "" : (MEMBERS[member]?.[1](user) ?? "");
}
