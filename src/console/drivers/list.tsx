import type { DriverConfig, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { SearchField } from "../components/search-field.tsx";
import { Empty } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";

/** Labels of the shown behaviour flags of a driver. */
const FLAGS: readonly (readonly [keyof DriverConfig, MessageKey])[] = [
  ["onlyLocal", "driver.onlyLocal"],
  ["onlyProxy", "driver.onlyProxy"],
  ["preferProxy", "driver.preferProxy"],
  ["noUpload", "driver.noUpload"],
  ["noCache", "driver.noCache"],
  ["onlyIndices", "driver.onlyIndices"],
];

/** Texts about a driver's behaviour. */
export function behaviourOf(config: DriverConfig | undefined): string[] {
  return FLAGS.filter(([flag]) => config?.[flag] === true).map(([, word]) => t(word));
}

/** All drivers, with a search over their names and items. */
export function DriverList({ drivers }: { readonly drivers: ReadonlyMap<string, DriverInfo> }) {
  const text = place.value.query.get("q") ?? "";
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...drivers].filter(([name, info]) =>
    words.every((word) => haystackOf(name, info).includes(word)),
  );
  return (
    <>
      <PageHead title={t("page.drivers")}>
        <SearchField value={text} name={t("drivers.search")} hint={t("drivers.searchIn")} />
      </PageHead>
      <p class="quiet small" role="status">
        {t("drivers.count", { count: found.length })}
      </p>
      {found.length === 0 ? (
        <Empty icon="search" title={t("drivers.none")} />
      ) : (
        <ul class="drivers">
          {found.map(([name, info]) => (
            <li key={name}>
              <a href={href("drivers", { name })}>
                <strong>{info.label || name}</strong>
                {info.label !== "" && info.label !== name && (
                  <code class="quiet small">{name}</code>
                )}
                <span class="quiet small">
                  {t("drivers.items", { count: info.additional.length })}
                  {behaviourOf(info.config).map((word) => ` · ${word}`)}
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const haystacks = new WeakMap<DriverInfo, string>();

function haystackOf(name: string, info: DriverInfo): string {
  const known = haystacks.get(info);
  if (known !== undefined) return known;
  const items = info.additional.map((item) => `${item.name} ${item.label} ${item.description}`);
  const haystack = [name, info.label, ...items, ...behaviourOf(info.config)]
    .join("\n")
    .toLowerCase();
  haystacks.set(info, haystack);
  return haystack;
}
