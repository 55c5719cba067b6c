import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import type { PendingSite } from "../../../gen/mooring/v1/setting_pb.js";
import type { Failure } from "../api/failure.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { ReasonField } from "../components/field.tsx";
import {
  type DraftFormat,
  type KeptDraft,
  KeptNotice,
  SecretHint,
  useKeptDraft,
} from "../components/kept-draft.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { type NewerState, Outdated, type Stored, useNewerState } from "./outdated.tsx";
import { Effects } from "./results.tsx";

/** Reply of a save, or of its dry run. */
interface Saved<Result> {
  readonly results: readonly Result[];
  readonly pendingSites?: readonly PendingSite[];
}

/** Rules of the form of one kind of records. */
export interface RecordRules<R extends Stored, D, Result> extends DraftFormat<D> {
  /** The record as last received; undefined: a new one. */
  readonly record: R | undefined;
  draftOf(record: R | undefined): D;
  /** The changed inputs, on a newer state of the record. */
  rebased(draft: D, record: R): D;
  send(draft: D, options: { dryRun: boolean; reason: string }): Promise<Saved<Result>>;
  /** Reads the record after a save; of a new one, also shows its page. */
  reload(draft: D, results: readonly Result[]): Promise<R | undefined>;
}

/** State of the form of a record. */
export interface RecordForm<D, Result> {
  readonly draft: Signal<D>;
  readonly kept: Omit<KeptDraft<never>, "draft">;
  readonly reason: Signal<string>;
  readonly failure: Failure | undefined;
  readonly results: readonly Result[] | undefined;
  /** Sites that get the saved change later. */
  readonly pending: readonly PendingSite[];
  /** Effects of a save that waits for a confirmation. */
  readonly effects: Signal<readonly Effect[]>;
  readonly busy: boolean;
  readonly newer: NewerState | undefined;
  set(change: Partial<D>): void;
  /** Saves, or shows a preview: also before a save with an effect on a running server. */
  save(options: { readonly dryRun: boolean; readonly isConfirmed?: boolean }): Promise<void>;
}

/** Inputs of the form of a record, their preview and save. A newer state is never overwritten. */
export function useRecordForm<
  R extends Stored,
  D extends { readonly base: R | undefined },
  Result extends { readonly effects: readonly Effect[] },
>(rules: RecordRules<R, D, Result>): RecordForm<D, Result> {
  const kept = useKeptDraft(rules);
  const { draft } = kept;
  const reason = useSignal("");
  const { busy, failure, run } = useAction();
  const results = useSignal<readonly Result[] | undefined>(undefined);
  const pending = useSignal<readonly PendingSite[]>([]);
  const effects = useSignal<readonly Effect[]>([]);
  const newer = useNewerState(rules.record, kept, rules);
  const save: RecordForm<D, Result>["save"] = ({ dryRun, isConfirmed = false }) =>
    run(
      async ({ gone }) => {
        const sent = draft.value;
        const options = { reason: reason.value.trim() };
        const planned = await rules.send(sent, { ...options, dryRun: true });
        const asksFirst = !dryRun && !isConfirmed;
        effects.value = asksFirst ? planned.results.flatMap((result) => result.effects) : [];
        const isPlan = dryRun || effects.value.length > 0;
        results.value = isPlan ? planned.results : undefined;
        if (isPlan) return;
        const reply = await rules.send(sent, { ...options, dryRun: false });
        results.value = reply.results;
        pending.value = reply.pendingSites ?? [];
        reason.value = "";
        kept.forget();
        if (gone.aborted) return;
        draft.value = rules.draftOf(await rules.reload(sent, reply.results));
      },
      () => {
        results.value = undefined;
        effects.value = [];
      },
    );
  return {
    draft,
    kept,
    reason,
    effects,
    save,
    failure,
    results: results.value,
    pending: pending.value,
    busy,
    newer,
    set: (change) => {
      draft.value = { ...draft.peek(), ...change };
    },
  };
}

/** Frame of the form: notices of a newer state and of kept inputs, fields, outcome and buttons. */
export function RecordFrame<D, Result>(props: {
  readonly form: RecordForm<D, Result>;
  readonly mayWrite: boolean;
  /** Results or problems of a preview or save. */
  readonly outcome: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const { form, mayWrite } = props;
  return (
    <>
      <KeptNotice of={form.kept} />
      <Outdated of={form.newer} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void form.save({ dryRun: false });
        }}
      >
        {props.children}
        {mayWrite && (
          <ReasonField
            value={form.reason.value}
            onChange={(text) => {
              form.reason.value = text;
            }}
          />
        )}
        {props.outcome}
        <PendingSites of={form.pending} />
        {mayWrite && (
          <>
            <SecretHint of={form.kept} />
            <div class="ways">
              <Button disabled={form.busy} onClick={() => void form.save({ dryRun: true })}>
                {t("record.preview")}
              </Button>
              <Button kind="main" type="submit" disabled={form.busy}>
                {t("record.save")}
              </Button>
            </div>
          </>
        )}
      </form>
      {form.effects.value.length > 0 && !form.busy && (
        <Confirm
          title={t("effect.title")}
          action={t("effect.save")}
          onAction={() => form.save({ dryRun: false, isConfirmed: true })}
          onClose={() => {
            form.effects.value = [];
          }}
        >
          <Effects effects={form.effects.value} />
        </Confirm>
      )}
    </>
  );
}

/** Sites that do not get a change now. */
export function PendingSites({ of }: { readonly of: readonly PendingSite[] }) {
  if (of.length === 0) return null;
  return (
    <Notice kind="warning">
      {t("record.pending")}
      <ul>
        {of.map(({ site, reason }) => (
          <li key={site}>
            {site}: {reason}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
