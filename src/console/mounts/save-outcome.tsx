import type { Signal } from "@preact/signals";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import type { Failure } from "../api/failure.ts";
import { Check } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { Results } from "./results.tsx";

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
      {failure && <Notice kind="wrong">{failure.message || t("state.offline")}</Notice>}
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
