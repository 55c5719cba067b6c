import { useSignal } from "@preact/signals";
import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import type { Rule } from "../../../gen/mooring/v1/rule_pb.js";
import { may } from "../api/rights.ts";
import { ruleService } from "../api/rules.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Field, ReasonField } from "../components/field.tsx";
import type { Run } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { DeleteDialog } from "../records/delete-dialog.tsx";
import { Effects } from "../records/results.tsx";
import { href } from "../shell/location.ts";

/** Actions on one folder rule. */
export function RuleActions({ rule }: { readonly rule: Rule }) {
  const openDialog = useSignal<"move" | "delete" | undefined>(undefined);
  const close = (): void => {
    openDialog.value = undefined;
  };
  return (
    <>
      {may("rules:write") &&
        (["move", "delete"] as const).map((action) => (
          <Button
            key={action}
            onClick={() => {
              openDialog.value = action;
            }}
          >
            {t(action === "move" ? "rule.move" : "mount.delete")}
          </Button>
        ))}
      {may("history:read") && (
        <a class="button" href={href("history", { key: `rule:${rule.path}` })}>
          {t("page.history")}
        </a>
      )}
      {openDialog.value === "move" && <MoveDialog rule={rule} onClose={close} />}
      {openDialog.value === "delete" && (
        <DeleteDialog
          name={rule.path}
          question={t("rule.deleteQuestion")}
          send={(options, signal) =>
            ruleService.deleteRules(
              { ...options, paths: [rule.path] },
              { ...(signal && { signal }) },
            )
          }
          next={href("rules")}
          onClose={close}
        />
      )}
    </>
  );
}

/** Moves a rule to another folder: its effects are shown before the second click. */
function MoveDialog({ rule, onClose }: { readonly rule: Rule; readonly onClose: () => void }) {
  const path = useSignal(rule.path);
  const reason = useSignal("");
  const planned = useSignal<{ path: string; effects: readonly Effect[] } | undefined>(undefined);
  const move = async ({ go }: Run): Promise<void> => {
    const newPath = path.value.trim();
    const request = { path: rule.path, newPath, expectedEtag: rule.etag };
    const { results } = await ruleService.moveRule({ ...request, dryRun: true });
    const effects = results.flatMap((result) => result.effects);
    if (effects.length > 0 && planned.value?.path !== newPath) {
      planned.value = { path: newPath, effects };
      // The dialog stays open and shows the message with the effects.
      throw new Error(t("rule.moveAgain"));
    }
    await ruleService.moveRule({ ...request, reason: reason.value.trim() });
    go(href("rule", { path: newPath }));
  };
  return (
    <Confirm
      title={t("rule.moveTitle", { path: rule.path })}
      action={t("rule.move")}
      onAction={move}
      onClose={onClose}
    >
      <Field
        label={t("rule.newPath")}
        hint=""
        wrong={undefined}
        value={path.value}
        onChange={(text) => {
          path.value = text;
        }}
      />
      <ReasonField
        value={reason.value}
        onChange={(text) => {
          reason.value = text;
        }}
      />
      <Effects effects={planned.value?.effects ?? []} />
    </Confirm>
  );
}
