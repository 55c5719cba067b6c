import { useSignal } from "@preact/signals";
import type { User } from "../../../gen/mooring/v1/user_pb.js";
import { may } from "../api/rights.ts";
import { userService } from "../api/users.ts";
import { Failed, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { usersTexts } from "../i18n/en/users.ts";
import { addMessages, t } from "../i18n/language.ts";
import { SiteSelect, useSiteNames } from "../records/site-select.tsx";
import { href, place, refine } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Comparison } from "./comparison.tsx";
import { permissionsInWords, rolesInWords } from "./words.ts";

import "./users.css";
import "../components/field.css";

addMessages(pagesTexts, usersTexts);

/** Users of a site: list, comparison with another site, and copies to it. */
export default function UsersPage() {
  const site = place.value.query.get("site") ?? "";
  return (
    <>
      <PageHead title={t("page.users")}>
        {site !== "" && may("sites:read") && (
          <a class="button" href={href("sites", { name: site })}>
            {site}
          </a>
        )}
      </PageHead>
      <p class="behaviour quiet">{t("users.about")}</p>
      {site === "" ? <ChooseSite /> : <UsersOfSite key={site} site={site} />}
    </>
  );
}

/** Choice of a site, which the address does not name. */
function ChooseSite() {
  return (
    <div class="other-site">
      <SiteSelect
        label={t("users.site")}
        names={useSiteNames()}
        value=""
        onChange={(site) => refine({ site })}
      />
    </div>
  );
}

function UsersOfSite({ site }: { readonly site: string }) {
  const other = useSignal("");
  const { data, failure, again } = useCall(
    (signal) => userService.listUsers({ site }, { signal }),
    [site],
  );
  const others = useSiteNames().filter((name) => name !== site);
  return (
    <>
      {others.length > 0 && (
        <div class="other-site">
          <SiteSelect
            label={t("users.compareWith")}
            names={others}
            none={t("users.noSite")}
            value={other.value}
            onChange={(name) => {
              other.value = name;
            }}
          />
        </div>
      )}
      {other.value !== "" && <Comparison key={other.value} from={site} to={other.value} />}
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={3} />}
      {data && (
        <ul class="sheet users" aria-label={t("page.users")}>
          {data.users.map((user) => (
            <OneUser key={user.name} user={user} />
          ))}
        </ul>
      )}
    </>
  );
}

function OneUser({ user }: { readonly user: User }) {
  const { name, basePath, roles, disabled, permissions, builtIn, ssoId } = user;
  return (
    <li data-user={name}>
      <div>
        <strong>{name}</strong> {builtIn && <span class="badge">{t("user.builtIn")}</span>}{" "}
        {disabled && <span class="badge">{t("user.disabled")}</span>}
        <p class="quiet small">
          <code>{basePath}</code> · {rolesInWords(roles)}
          {ssoId !== "" && ` · ${t("user.sso")}: ${ssoId}`}
        </p>
      </div>
      <p class="quiet small">{permissionsInWords(permissions)}</p>
    </li>
  );
}
