import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";

const EFFECTS: Readonly<Record<string, MessageKey>> = {
  remove: "effect.remove",
  disable: "effect.disable",
  remount: "effect.remount",
  open: "effect.open",
  follow: "effect.follow",
};

function keyOf(action: string, kind: string): MessageKey {
  if (action === "open" && kind === "mount") return "effect.moveOpen";
  return EFFECTS[action] ?? "effect.change";
}

/** List of the effects of a change on running servers. */
export function Effects({ effects }: { readonly effects: readonly Effect[] }) {
  return effects.map(({ action, site, kind, path }) => (
    <p key={`${action} ${site} ${path}`} class="wrong small">
      {t(keyOf(action, kind), { site, path })}
    </p>
  ));
}

/** Result for one record. */
export type ShownResult = Pick<MountResult, "name" | "outcome" | "note" | "differs" | "effects"> &
  Partial<Pick<MountResult, "leftOut">>;

/** Results of a change of records, or of its dry run. */
export function Results(props: {
  readonly results: readonly ShownResult[];
  /** Names that the user leaves out. Absent: nothing can be left out. */
  readonly left?: ReadonlySet<string>;
  readonly onLeft?: (names: ReadonlySet<string>) => void;
}) {
  const { results, left, onLeft } = props;
  const toggle = (name: string): void => {
    const next = new Set(left);
    if (!next.delete(name)) next.add(name);
    onLeft?.(next);
  };
  if (results.length === 0) return null;
  return (
    <ul class="mount-results">
      {results.map(({ name, outcome, note, differs, effects, leftOut = [] }) => (
        <li key={name}>
          {left && outcome !== "skipped" && (
            <input
              type="checkbox"
              aria-label={name}
              checked={!left.has(name)}
              onChange={() => toggle(name)}
            />
          )}{" "}
          <strong>{name}</strong> {t(OUTCOMES[outcome] ?? "record.unchanged")}
          {differs.length > 0 && <span class="quiet small"> {differs.join(", ")}</span>}
          {note !== "" && <p class="quiet small">{note}</p>}
          {leftOut.length > 0 && (
            <p class="wrong small">{t("record.leftOut", { names: leftOut.join(", ") })}</p>
          )}
          <Effects effects={effects} />
        </li>
      ))}
    </ul>
  );
}

const OUTCOMES: Readonly<
  Record<string, "record.created" | "record.changed" | "record.deleted" | "record.skipped">
> = {
  created: "record.created",
  changed: "record.changed",
  deleted: "record.deleted",
  skipped: "record.skipped",
};
