import type { Signal } from "@preact/signals";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { type Failure, memberOf } from "../api/failure.ts";
import { Check } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { Results } from "../records/results.tsx";
import { itemOf } from "./input.ts";

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
