import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { Incident } from "../../../gen/mooring/v1/incident_pb.js";
import { failureOf } from "../api/failure.ts";
import { incidentService, incidents } from "../api/incidents.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Notice } from "../components/state.tsx";
import { When } from "../components/when.tsx";
import { t } from "../i18n/language.ts";
import { CLASSES } from "./incident-classes.ts";

/** Mounts that do not work, with what to do; nothing where all do. */
export function IncidentList() {
  const open = incidents.value;
  if (open.length === 0) return null;
  return (
    <section class="sheet" aria-labelledby="incidents">
      <h2 class="sheet-title" id="incidents">
        {t("incident.title", { count: open.length })}
      </h2>
      <ul class="incidents">
        {open.map((incident) => (
          <OneIncident key={incident.id} of={incident} />
        ))}
      </ul>
    </section>
  );
}

function OneIncident({ of }: { readonly of: Incident }) {
  const wrong = useSignal("");
  const acknowledge = async (): Promise<void> => {
    try {
      await incidentService.acknowledgeIncident({ id: of.id });
      wrong.value = "";
    } catch (thrown) {
      wrong.value = failureOf(thrown).message || t("state.offline");
    }
  };
  const word = CLASSES[of.class];
  return (
    <li>
      <p>
        <strong>
          {of.site} <code>{of.mountPath}</code>
        </strong>{" "}
        {word && <span class="badge">{t(word)}</span>}{" "}
        <span class="quiet small">
          {of.driver}
          {of.openTime && (
            <>
              {" · "}
              <When time={timestampMs(of.openTime)} />
            </>
          )}
          {of.acknowledgeTime && ` · ${t("incident.acknowledged", { actor: of.acknowledgedBy })}`}
        </span>
      </p>
      {of.message !== "" && <p class="mono small">{of.message}</p>}
      <p>{of.action}</p>
      {of.items.length > 0 && (
        <p class="quiet small">
          {t("incident.items", {
            names: of.items.map(({ label, name }) => label || name).join(", "),
          })}
        </p>
      )}
      <div class="ways">
        {of.guide !== "" && (
          <a class="button" href={of.guide} target="_blank" rel="noreferrer">
            {t("drivers.guide")}
          </a>
        )}
        {of.acknowledgeTime === undefined && may("incidents:acknowledge") && (
          <Button onClick={() => void acknowledge()}>{t("incident.acknowledge")}</Button>
        )}
      </div>
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
    </li>
  );
}
