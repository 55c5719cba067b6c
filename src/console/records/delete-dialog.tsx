import { useSignal } from "@preact/signals";
import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import { Confirm } from "../components/dialog.tsx";
import { ReasonField } from "../components/field.tsx";
import { Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { Effects } from "./results.tsx";

/** Reply of a deletion, or of its dry run. */
interface Deleted {
  readonly results: readonly { readonly effects: readonly Effect[] }[];
}

/** Confirmation of the deletion of a record, which names its effects. */
export function DeleteDialog(props: {
  readonly name: string;
  readonly question: string;
  /** Deletes the record, or plans it. */
  readonly send: (
    options: { readonly dryRun: boolean; readonly reason: string },
    signal?: AbortSignal,
  ) => Promise<Deleted>;
  /** Address of the page after the deletion. */
  readonly next: string;
  readonly onClose: () => void;
}) {
  const { name, send, next } = props;
  const reason = useSignal("");
  const { data, failure } = useCall((signal) => send({ dryRun: true, reason: "" }, signal), [name]);
  return (
    <Confirm
      title={t("record.deleteTitle", { name })}
      action={t("mount.deleteNow")}
      onAction={async ({ go }) => {
        await send({ dryRun: false, reason: reason.value.trim() });
        go(next);
      }}
      onClose={props.onClose}
    >
      {props.question}
      {failure && <p class="wrong">{failure.message}</p>}
      {!data && !failure && <Skeleton rows={1} />}
      <Effects effects={data?.results.flatMap((result) => result.effects) ?? []} />
      <ReasonField
        value={reason.value}
        onChange={(text) => {
          reason.value = text;
        }}
      />
    </Confirm>
  );
}
