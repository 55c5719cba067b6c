import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { t } from "../i18n/language.ts";

/** Results of a change of mounts, or of its dry run. */
export function Results({ results }: { readonly results: readonly MountResult[] }) {
  return (
    <ul class="mount-results">
      {results.map(({ name, outcome, note, differs }) => (
        <li key={name}>
          <strong>{name}</strong> {t(OUTCOMES[outcome] ?? "mount.unchanged")}
          {differs.length > 0 && <span class="quiet small"> {differs.join(", ")}</span>}
          {note !== "" && <p class="quiet small">{note}</p>}
        </li>
      ))}
    </ul>
  );
}

const OUTCOMES: Readonly<
  Record<string, "mount.created" | "mount.changed" | "mount.deleted" | "mount.skipped">
> = {
  created: "mount.created",
  changed: "mount.changed",
  deleted: "mount.deleted",
  skipped: "mount.skipped",
};
