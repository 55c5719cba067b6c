import { useSignal } from "@preact/signals";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ReasonField } from "../components/field.tsx";
import { useTask } from "../components/task.tsx";
import { t } from "../i18n/language.ts";
import { Results, type ShownResult } from "./results.tsx";
import { SiteSelect, useSiteNames } from "./site-select.tsx";

/** Time limit of a call in milliseconds: a site may be slow. */
const PATIENCE = 180_000;

/** Options of calls to a site. */
export interface SiteCall {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Action on the records of a site, with a preview. */
export interface SiteAction {
  /** Label of the button of the preview. */
  readonly preview: string;
  /** Label of the button of the change; undefined: the token does not allow it. */
  readonly commit: string | undefined;
  /** Whether the change is in the history, with a reason. */
  readonly hasReason: boolean;
  plan(site: string, call: SiteCall): Promise<readonly ShownResult[]>;
  /** @param names empty: all. */
  run(
    request: { readonly site: string; readonly names: readonly string[]; readonly reason: string },
    call: SiteCall,
  ): Promise<unknown>;
}

/** Dialog for the records of a site: choice of the site, previews, choice of records, and the change. */
export function SiteDialog(props: {
  readonly title: string;
  readonly about?: string;
  /** Shown when a preview has no results. */
  readonly same: string;
  readonly actions: readonly SiteAction[];
  readonly onClose: () => void;
}) {
  const { title, about, same, actions, onClose } = props;
  const site = useSignal("");
  const planned = useSignal<
    { readonly action: SiteAction; readonly results: readonly ShownResult[] } | undefined
  >(undefined);
  /** Names that are left out of the change. */
  const left = useSignal<ReadonlySet<string>>(new Set());
  const reason = useSignal("");
  const chosen = useSignal<SiteAction | undefined>(undefined);
  const names = useSiteNames();
  const plan = useTask(async (signal) => {
    const action = chosen.peek();
    if (action === undefined) return;
    planned.value = undefined;
    const results = await action.plan(site.peek(), { signal, timeoutMs: PATIENCE });
    planned.value = { action, results };
  });
  const commit = useTask(async (signal) => {
    if (planned.value === undefined) return;
    const { action, results } = planned.value;
    const chosen = results.flatMap(({ name }) => (left.value.has(name) ? [] : [name]));
    const request = {
      site: site.value,
      names: left.value.size === 0 ? [] : chosen,
      reason: reason.value.trim(),
    };
    await action.run(request, { signal, timeoutMs: PATIENCE });
    onClose();
  });
  const isBusy = plan.busy || commit.busy;
  const { action, results } = planned.value ?? {};
  const canCommit = results?.some(
    ({ name, outcome }) => outcome !== "skipped" && !left.value.has(name),
  );
  return (
    <Dialog title={title} onClose={onClose}>
      {about && <p class="quiet">{about}</p>}
      <SiteSelect
        label={t("mount.site")}
        names={names}
        value={site.value}
        onChange={(name) => {
          site.value = name;
          planned.value = undefined;
          left.value = new Set();
        }}
      />
      {plan.view}
      {commit.view}
      {results?.length === 0 && <p class="quiet">{same}</p>}
      {results !== undefined && results.length > 0 && (
        <Results
          results={results}
          left={left.value}
          onLeft={(leftOut) => {
            left.value = leftOut;
          }}
        />
      )}
      {canCommit && action?.hasReason && (
        <ReasonField
          value={reason.value}
          onChange={(text) => {
            reason.value = text;
          }}
        />
      )}
      <div class="ways">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        {actions.map((each) => (
          <Button
            key={each.preview}
            disabled={isBusy || site.value === ""}
            onClick={() => {
              chosen.value = each;
              plan.start();
            }}
          >
            {each.preview}
          </Button>
        ))}
        {canCommit && action?.commit && (
          <Button kind="main" disabled={isBusy} onClick={commit.start}>
            {action.commit}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
