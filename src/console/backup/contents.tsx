import type {
  Backup,
  BackupCount,
  BackupOmission,
  CheckBackupResponse,
} from "../../../gen/mooring/v1/backup_service_pb.js";
import { Notice } from "../components/state.tsx";
import { number, t } from "../i18n/language.ts";
import { partName } from "./parts.tsx";

/** Result of a check: numbers of entries, and what a restore would not bring back. */
export function Verdict({ name, of }: { readonly name: string; readonly of: CheckBackupResponse }) {
  if (of.problem !== "")
    return (
      <Notice kind="wrong">
        {name}: {of.problem}
      </Notice>
    );
  const isWhole = of.omissions.length === 0 && of.losses.length === 0;
  return (
    <Notice kind={isWhole ? "good" : "warning"}>
      {t("stored.good", { name, version: of.version })}{" "}
      <Contents counts={of.counts} omissions={of.omissions} />
      {of.losses.length > 0 && (
        <>
          <p>{t("stored.losses")}</p>
          <ul>
            {of.losses.map((loss) => (
              <li key={`${loss.part} ${loss.name}`}>
                {partName(loss.part)} {loss.name}: {loss.note || loss.missing.join(", ")}
              </li>
            ))}
          </ul>
        </>
      )}
    </Notice>
  );
}

/** Numbers of entries by part, and what a backup does not have. */
export function Contents(props: {
  readonly counts: readonly BackupCount[];
  readonly omissions: readonly BackupOmission[];
}) {
  return (
    <>
      {props.counts.map(({ part, count }) => `${partName(part)}: ${number(count)}`).join(" · ")}
      {props.omissions.length > 0 && (
        <>
          <p>{t("stored.omissions")}</p>
          <ul>
            {props.omissions.map(({ part, names, scope, reason }) => (
              <li key={`${part} ${names.join()}`}>
                {[partName(part), ...names].join(" ")} {reason || scope}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** List of backups. */
export function Names({ title, of }: { readonly title: string; readonly of: readonly Backup[] }) {
  if (of.length === 0) return null;
  return (
    <>
      <p>{title}</p>
      <ul>
        {of.map(({ name }) => (
          <li key={name}>
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </>
  );
}
