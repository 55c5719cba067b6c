import { may } from "../api/rights.ts";
import { SelectField } from "../components/select-field.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";

/** Names of all sites; without the right to list them, of the sites of the known mounts. */
async function siteNames(signal: AbortSignal): Promise<readonly string[]> {
  if (!may("sites:read")) {
    const { mounts } = await import("../api/mounts.ts");
    const known = [...(mounts.peek()?.values() ?? [])];
    return [...new Set(known.flatMap(({ status }) => status.map(({ site }) => site)))].sort();
  }
  const { siteService } = await import("../api/sites.ts");
  const { sites } = await siteService.listSites({}, { signal });
  return sites.map(({ name }) => name);
}

/** Names of the sites that the token may read; empty until they are read. */
export function useSiteNames(): readonly string[] {
  return useCall(siteNames, []).data ?? [];
}

/** Choice of one site. */
export function SiteSelect(props: {
  readonly label: string;
  readonly isLabelHidden?: boolean;
  readonly names: readonly string[];
  /** Text of the choice of no site; default: a request to choose. */
  readonly none?: string;
  /** Empty: none. */
  readonly value: string;
  readonly onChange: (name: string) => void;
}) {
  const { names, none, ...rest } = props;
  const options = names.map((name) => [name, name] as const);
  return <SelectField {...rest} options={[["", none ?? t("drivers.choose")], ...options]} />;
}
