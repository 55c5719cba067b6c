import { rights } from "../api/rights.ts";
import { Around } from "../components/around.tsx";
import { When } from "../components/when.tsx";
import { t } from "../i18n/language.ts";

/** The signed-in principal and its rights. */
export function OwnToken() {
  if (rights.value === undefined) return null;
  const { principal, tokenId, needs, limits, end } = rights.value;
  return (
    <section class="sheet block" aria-labelledby="own-token">
      <h2 id="own-token">{t("overview.ownToken")}</h2>
      <p>
        <strong>{principal}</strong> <code class="quiet small">{tokenId}</code>
      </p>
      <p class="scopes">
        {[...needs, ...limits].map((one) => (
          <code key={one} class="badge">
            {one}
          </code>
        ))}
      </p>
      {end !== undefined && (
        <p class="quiet">
          <Around text={t("token.ends")}>
            <When time={end} ahead />
          </Around>
        </p>
      )}
    </section>
  );
}
