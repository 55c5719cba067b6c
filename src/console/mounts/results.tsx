import type { Signal } from "@preact/signals";
import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { type Failure, memberOf } from "../api/failure.ts";
import { Check } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { itemOf } from "./input.ts";

const EFFECTS: Readonly<Record<string, MessageKey>> = {
  remove: "effect.remove",
  disable: "effect.disable",
  remount: "effect.remount",
  open: "effect.open",
  follow: "effect.follow",
};

/** List of the effects of a change on running servers. */
export function Effects({ effects }: { readonly effects: readonly Effect[] }) {
  return effects.map(({ action, site, path }) => (
    <p key={`${action} ${site} ${path}`} class="wrong small">
      {t(EFFECTS[action] ?? "effect.change", { site, path })}
    </p>
  ));
}

/** Results of a change of mounts, or of its dry run. */
export function Results(props: {
  readonly results: readonly (Pick<
    MountResult,
    "name" | "outcome" | "note" | "differs" | "effects"
  > &
    Partial<Pick<MountResult, "leftOut">>)[];
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
          <strong>{name}</strong> {t(OUTCOMES[outcome] ?? "mount.unchanged")}
          {differs.length > 0 && <span class="quiet small"> {differs.join(", ")}</span>}
          {note !== "" && <p class="quiet small">{note}</p>}
          {leftOut.length > 0 && (
            <p class="wrong small">{t("mount.leftOut", { names: leftOut.join(", ") })}</p>
          )}
          <Effects effects={effects} />
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

/** Message of a failed call, or all its problems with links to their fields. */
function Problems({ of: { message, violations } }: { readonly of: Failure }) {
  if (violations.length === 0) return <Notice kind="wrong">{message || t("state.offline")}</Notice>;
  return (
    <Notice kind="wrong">
      <strong>{t("mount.problems", { count: violations.length })}</strong>
      <ul>
        {violations.map(({ field, description }) => (
          <li key={field + description}>
            <a
              href={`#item-${itemOf(field)}`}
              onClick={(event) => {
                event.preventDefault();
                document.getElementById(`item-${itemOf(field)}`)?.focus();
              }}
            >
              {memberOf(field)}
            </a>
            : {description}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/**
 * Result of a preview or save of mounts, with a checkbox to allow a shared credential if one was
 * rejected.
 */
export function SaveOutcome(props: {
  readonly failure: Failure | undefined;
  readonly results: readonly MountResult[] | undefined;
  /** Whether sites may share a credential that can be used once. */
  readonly allowShared: Signal<boolean>;
}) {
  const { failure, results, allowShared } = props;
  const isAsked = allowShared.value || failure?.message.includes("allow_shared_credential");
  return (
    <>
      {failure && <Problems of={failure} />}
      {isAsked && (
        <Check
          label={t("mount.allowShared")}
          checked={allowShared.value}
          onChange={(checked) => {
            allowShared.value = checked;
          }}
        />
      )}
      {results && <Results results={results} />}
    </>
  );
}
