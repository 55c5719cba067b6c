import { useSignal } from "@preact/signals";
import {
  ImportOutcome,
  type ImportSettingsResponse,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { Button } from "../components/button.tsx";
import { number, t } from "../i18n/language.ts";

const OUTCOMES = {
  added: ImportOutcome.ADDED,
  changed: ImportOutcome.CHANGED,
  skipped: ImportOutcome.SKIPPED,
  unchanged: ImportOutcome.UNCHANGED,
} as const;

type Outcome = keyof typeof OUTCOMES;

const ORDER = Object.keys(OUTCOMES) as Outcome[];
/** Rows that are shown at once. */
const MOST = 200;

export function countOf({ settings }: ImportSettingsResponse, outcome: Outcome): number {
  return settings.filter((one) => one.outcome === OUTCOMES[outcome]).length;
}

/** Outcome, or preview, of each setting of a backup. Unchanged settings are hidden at first. */
export function OutcomeTable({ result }: { readonly result: ImportSettingsResponse }) {
  const hidden = useSignal<readonly Outcome[]>(["unchanged"]);
  const toggle = (outcome: Outcome): void => {
    const rest = hidden.value.filter((one) => one !== outcome);
    hidden.value = rest.length < hidden.value.length ? rest : [...rest, outcome];
  };
  const nameOf = (outcome: ImportOutcome) => ORDER.find((one) => OUTCOMES[one] === outcome);
  const rows = ORDER.filter((one) => !hidden.value.includes(one)).flatMap((one) =>
    result.settings.filter(({ outcome }) => outcome === OUTCOMES[one]),
  );
  return (
    <div class="outcomes">
      <fieldset class="marks" aria-label={t("settings.filters")}>
        {ORDER.map((one) => (
          <Button key={one} aria-pressed={!hidden.value.includes(one)} onClick={() => toggle(one)}>
            {t(`outcome.${one}`)} <span class="tally">{number(countOf(result, one))}</span>
          </Button>
        ))}
      </fieldset>
      {rows.length > 0 && (
        <div class="table">
          <table>
            <thead>
              <tr>
                <th scope="col">{t("history.key")}</th>
                <th scope="col">{t("outcome.label")}</th>
                <th scope="col">{t("outcome.why")}</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, MOST).map(({ key, outcome, reason }) => (
                <tr key={key}>
                  <td>
                    <code>{key}</code>
                  </td>
                  <td>{t(`outcome.${nameOf(outcome) ?? "unchanged"}`)}</td>
                  <td class="quiet">{reason}</td>
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
