import { useSignal } from "@preact/signals";
import type {
  ArchiveResult,
  RestoreBackupResponse,
} from "../../../gen/mooring/v1/backup_service_pb.js";
import { Button } from "../components/button.tsx";
import { number, t } from "../i18n/language.ts";
import { partName } from "./parts.tsx";

const ORDER = ["created", "changed", "skipped", "unchanged"] as const;

type Outcome = (typeof ORDER)[number];

/** Number of rows shown at first. */
const MOST = 200;

/** Number of entries with an outcome. */
export function countOf({ results }: RestoreBackupResponse, outcome: Outcome): number {
  return results.filter((one) => one.outcome === outcome).length;
}

/**
 * Outcome, or preview, of each entry. Unchanged entries are hidden at first, except those that keep
 * something other than the backup has.
 */
export function OutcomeTable({ result }: { readonly result: RestoreBackupResponse }) {
  const hidden = useSignal<readonly Outcome[]>(["unchanged"]);
  const toggle = (outcome: Outcome): void => {
    const rest = hidden.value.filter((one) => one !== outcome);
    hidden.value = rest.length < hidden.value.length ? rest : [...rest, outcome];
  };
  const rows = ORDER.flatMap((one) =>
    result.results.flatMap((each) =>
      each.outcome === one && (!hidden.value.includes(one) || each.kept.length > 0)
        ? [{ part: each.part, name: each.name, outcome: one, why: whyOf(each) }]
        : [],
    ),
  );
  const skipped = result.skipped.map(({ part, count, reason }) => ({
    part,
    name: number(count),
    outcome: "skipped" as const,
    why: reason,
  }));
  return (
    <div class="outcomes">
      <fieldset class="marks" aria-label={t("settings.filters")}>
        {ORDER.map((one) => (
          <Button key={one} aria-pressed={!hidden.value.includes(one)} onClick={() => toggle(one)}>
            {t(`outcome.${one}`)} <span class="tally">{number(countOf(result, one))}</span>
          </Button>
        ))}
      </fieldset>
      {rows.length + skipped.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
        <div class="table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t("backup.part")}</th>
                <th scope="col">{t("outcome.name")}</th>
                <th scope="col">{t("outcome.label")}</th>
              </tr>
            </thead>
            <tbody>
              {[...skipped, ...rows.slice(0, MOST)].map(({ part, name, outcome, why }) => (
                <tr key={`${part} ${name}`}>
                  <td>{partName(part)}</td>
                  <td>
                    <code>{name}</code>
                    {why !== "" && <p class="quiet">{why}</p>}
                  </td>
                  <td>{t(`outcome.${outcome}`)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > MOST && (
        <p class="quiet small">{t("toast.more", { count: rows.length - MOST })}</p>
      )}
    </div>
  );
}

function whyOf({ note, missing, replacedSecrets, kept, newer }: ArchiveResult): string {
  const named = [
    ["outcome.missing", missing],
    ["import.replaced", replacedSecrets],
    ["import.kept", kept],
  ] as const;
  const lines = named.flatMap(([text, names]) =>
    names.length > 0 ? [t(text, { names: names.join(", ") })] : [],
  );
  return [note, ...lines, newer ? t("import.newer") : ""].filter((text) => text !== "").join("; ");
}
